"""Calls that are written almost right: the message has the call that was meant."""

from __future__ import annotations

from typing import Any

import pytest
from support.refusals import assert_users_traceback, refusal

import fgrad
import fgrad.numpy as fnp
from fgrad import errors, lax

x3 = fnp.ones(3)


def test_at_is_not_assigned_to() -> None:
    def assign() -> None:
        x3.at[0] = 1.0

    refusal(errors.InPlaceError, assign, "x = x.at[i].set(v)", file=__file__)


def test_at_is_not_called() -> None:
    refusal(errors.ArgumentError, lambda: x3.at(0), "brackets", "x = x.at[i].set(v)", file=__file__)


@pytest.mark.parametrize(
    ("name", "words"), [("ad", "did you mean x.at[i].add?"), ("qqq", "write x = x.at[i].set(v)")]
)
def test_a_method_that_at_does_not_have(name: str, words: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(x3.at[0], name)
    assert words in str(caught.value)
    assert_users_traceback(caught.value, __file__)
    assert not hasattr(x3.at[0], "__array__")


@pytest.mark.parametrize("numbers", [((0,), (0,)), 3, ((0, 0), ((), ()))])
def test_dimension_numbers_of_another_form(numbers: Any) -> None:
    refusal(
        errors.ArgumentError,
        lambda: lax.dot_general(x3, x3, numbers),
        repr(numbers),
        "((lhs_contract, rhs_contract), (lhs_batch, rhs_batch))",
        file=__file__,
    )


def test_a_shape_in_pieces() -> None:
    refusal(
        errors.ArgumentError,
        lambda: fnp.reshape(fnp.ones(6), 2, 3),  # type: ignore[arg-type]
        "order is 3",
        "reshape(x, (2, 3))",
        file=__file__,
    )
    assert fnp.reshape(fnp.ones(6), (2, 3), "F").shape == (2, 3)


@pytest.mark.parametrize(
    "transform",
    [fgrad.grad, fgrad.value_and_grad, fgrad.jacfwd, fgrad.jacrev, fgrad.hessian],
)
@pytest.mark.parametrize("argnums", [2.0, "x", (0, 1.5), None])
def test_argnums_are_integers(transform: Any, argnums: Any) -> None:
    name = transform.__name__
    refusal(
        errors.ArgnumsError,
        lambda: transform(lambda x: x, argnums),
        f"argnums is {argnums!r}",
        f"{name}(f)(x)",
        file=__file__,
    )
