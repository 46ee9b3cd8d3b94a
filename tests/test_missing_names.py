"""A name that a namespace does not have: the error says where it is, or which name is like it."""

from __future__ import annotations

import importlib
import pickle
import re
import traceback
from typing import Any

import pytest
from support.refusals import assert_in_users_words, assert_users_traceback

import fgrad
from fgrad import errors
from fgrad.missing_names import _NAMESPACES, _OTHER_NAMES, nearest

ELSEWHERE = {
    "fgrad.numpy.sigmoid": "fgrad.nn.sigmoid",
    "fgrad.numpy.relu": "fgrad.nn.relu",
    "fgrad.numpy.softmax": "fgrad.nn.softmax",
    "fgrad.numpy.logsumexp": "fgrad.nn.logsumexp",
    "fgrad.numpy.erf": "fgrad.scipy.special.erf",
    "fgrad.numpy.norm": "fgrad.numpy.linalg.norm",
    "fgrad.numpy.inv": "fgrad.numpy.linalg.inv",
    "fgrad.numpy.trapz": "fgrad.numpy.trapezoid",
    "fgrad.numpy.random": "fgrad.random",
    "fgrad.numpy.Array": "fgrad.Array",
    "fgrad.gradient": "fgrad.grad",
    "fgrad.nn.sin": "fgrad.numpy.sin",
    "fgrad.scipy.erf": "fgrad.scipy.special.erf",
    "fgrad.tree.grad": "fgrad.grad",
}
MISSPELT = {
    "fgrad.numpy.sqaure": "square",
    "fgrad.gard": "grad",
    "fgrad.lax.scann": "scan",
    "fgrad.nn.rleu": "relu",
    "fgrad.numpy.linalg.choleski": "cholesky",
    "fgrad.numpy.fft.ftt": "fft",
    "fgrad.random.Normal": "normal",
    "fgrad.scipy.special.erff": "erf",
    "fgrad.tree.mapp": "map",
    "fgrad.errors.ShapError": "ShapeError",
}


def unplaced(error: errors.MissingNameError) -> str:
    """The message without the line that asked, which it names once."""
    message = str(error)
    assert message.count(" (test_missing_names.py:") == 1
    return re.sub(r" \(test_missing_names\.py:\d+ \([^)]+\)\)", "", message)


def asked(dotted: str) -> errors.MissingNameError:
    module, _, name = dotted.rpartition(".")
    namespace = importlib.import_module(module)
    with pytest.raises(errors.MissingNameError) as caught:
        getattr(namespace, name)
    assert not hasattr(namespace, name)
    assert_users_traceback(caught.value, __file__)
    assert str(caught.value).startswith(f"module '{module}' has no attribute '{name}'")
    assert_in_users_words(str(caught.value))
    return caught.value


@pytest.mark.parametrize(("dotted", "place"), ELSEWHERE.items())
def test_a_name_of_another_namespace(dotted: str, place: str) -> None:
    assert f"; use {place}" in str(asked(dotted))
    module, _, name = place.rpartition(".")
    assert hasattr(importlib.import_module(module), name)


@pytest.mark.parametrize(("dotted", "meant"), MISSPELT.items())
def test_a_misspelt_name(dotted: str, meant: str) -> None:
    module = dotted.rpartition(".")[0]
    assert str(asked(dotted)).endswith(f"; did you mean {module}.{meant}?")


def test_a_name_that_is_like_none() -> None:
    assert (
        unplaced(asked("fgrad.numpy.qqqqqqq")) == "module 'fgrad.numpy' has no attribute 'qqqqqqq'"
    )


@pytest.mark.parametrize("namespace", _NAMESPACES)
def test_every_namespace_refuses_in_the_users_words(namespace: str) -> None:
    asked(f"{namespace}.qqqqqqq")


def test_other_names_are_not_names_of_fgrad() -> None:
    for namespace, names in _OTHER_NAMES.items():
        for name in names:
            assert not hasattr(importlib.import_module(namespace), name)


def test_nothing_is_looked_up_until_the_message_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def looked_up(*args: Any) -> str:
        raise AssertionError("looked up")

    monkeypatch.setattr("fgrad.missing_names.whereabouts", looked_up)
    assert not hasattr(fgrad.numpy, "sqaure")
    assert getattr(fgrad.numpy, "sqaure", 7) == 7


def test_a_name_that_is_missing_inside_of_a_transform() -> None:
    with pytest.raises(errors.MissingNameError) as caught:
        fgrad.grad(lambda x: fgrad.numpy.sigmoid(x))(1.0)  # type: ignore[attr-defined]
    assert_users_traceback(caught.value, __file__)
    assert unplaced(caught.value).endswith("'sigmoid'; use fgrad.nn.sigmoid")


def test_imports_of_missing_names_stay_import_errors() -> None:
    with pytest.raises(ImportError, match=r"cannot import name 'nope' from 'fgrad\.numpy'"):
        from fgrad.numpy import nope  # type: ignore[attr-defined]  # noqa: F401
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("fgrad.numpy.nope")


def test_the_error_pickles_and_has_its_name() -> None:
    error = asked("fgrad.gard")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is errors.MissingNameError
    assert str(again) == str(error)
    assert again.name == error.name == "gard"


def test_frames_are_kept_on_request() -> None:
    fgrad.config.update("traceback_filtering", "off")
    try:
        with pytest.raises(errors.MissingNameError) as caught:
            _ = fgrad.gard  # type: ignore[attr-defined]
    finally:
        fgrad.config.update("traceback_filtering", "auto")
    assert "source_info.py" in "".join(traceback.format_tb(caught.value.__traceback__))


def test_a_misspelt_flag() -> None:
    with pytest.raises(errors.ConfigError) as caught:
        fgrad.config.update("jax_enable_x46", True)
    assert "'jax_enable_x46'; did you mean 'enable_x64'? The flags are" in str(caught.value)
    assert_users_traceback(caught.value, __file__)
    with pytest.raises(errors.ConfigError, match="did you mean 'debug_nans'"):
        _ = fgrad.config.jax_debug_nan


def test_nearest() -> None:
    assert nearest("SQAURE", ["square", "sqrt"]) == "square"
    assert nearest("zzz", ["square", "sqrt"]) == ""
