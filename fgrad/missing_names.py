"""Where a name is that a namespace does not have: what the message of the error says last."""

from __future__ import annotations

import difflib
import importlib
import sys
from collections.abc import Callable, Iterable
from typing import Any

# Looked through in this order: of several namespaces that have a name, the first one is told.
_NAMESPACES = (
    "fgrad",
    "fgrad.numpy",
    "fgrad.numpy.linalg",
    "fgrad.nn",
    "fgrad.random",
    "fgrad.scipy.special",
    "fgrad.lax",
    "fgrad.numpy.fft",
    "fgrad.tree",
    "fgrad.tree_util",
    "fgrad.flatten_util",
    "fgrad.nn.initializers",
    "fgrad.scipy.linalg",
    "fgrad.scipy.integrate",
    "fgrad.scipy.interpolate",
    "fgrad.scipy.ndimage",
    "fgrad.scipy.optimize",
    "fgrad.scipy.signal",
    "fgrad.scipy.stats",
    "fgrad.example_libraries.optimizers",
    "fgrad.example_libraries.stax",
    "fgrad.experimental",
    "fgrad.image",
    "fgrad.debug",
    "fgrad.test_util",
    "fgrad.scipy",
)

# What other libraries call it, or NumPy did before version 2.
_OTHER_NAMES = {
    "fgrad": {
        "derivative": "fgrad.grad",
        "elementwise_grad": "fgrad.vmap(fgrad.grad(f))",
        "gradient": "fgrad.grad, or fgrad.numpy.gradient for differences of samples",
        "gradients": "fgrad.grad",
        "value_and_gradient": "fgrad.value_and_grad",
        "vectorize": "fgrad.vmap, or fgrad.numpy.vectorize",
    },
    "fgrad.numpy": {
        "Inf": "fgrad.numpy.inf",
        "Infinity": "fgrad.numpy.inf",
        "NINF": "-fgrad.numpy.inf",
        "NaN": "fgrad.numpy.nan",
        "PINF": "fgrad.numpy.inf",
        "alltrue": "fgrad.numpy.all",
        "cast": "fgrad.numpy.astype",
        "cat": "fgrad.numpy.concatenate",
        "cumproduct": "fgrad.numpy.cumprod",
        "float": "fgrad.numpy.float64",
        "in1d": "fgrad.numpy.isin",
        "infty": "fgrad.numpy.inf",
        "int": "fgrad.numpy.int64",
        "msort": "fgrad.numpy.sort with axis=0",
        "product": "fgrad.numpy.prod",
        "row_stack": "fgrad.numpy.vstack",
        "sometrue": "fgrad.numpy.any",
        "tensor": "fgrad.numpy.array",
        "trapz": "fgrad.numpy.trapezoid",
    },
}


class NameOfNamespace(AttributeError):
    """An error about a name that a namespace does not have.

    Libraries ask for such names all the time and never read the message, so that it is made when it is read.
    """

    def __init__(self, namespace: str, missing: str) -> None:
        message = f"module {namespace!r} has no attribute {missing!r}"
        super().__init__(message, namespace, missing)
        self.name = missing
        self.place: Callable[[], str] | None = None

    def __str__(self) -> str:
        message, namespace, missing = self._placed()
        instead = whereabouts(namespace, missing)
        return f"{message}; {instead}" if instead else message

    def _placed(self) -> tuple[str, str, str]:
        message, namespace, missing = self.args
        if self.place is not None and not message.endswith(")"):
            message = f"{message} ({self.place()})"
        return message, namespace, missing

    def __reduce__(self) -> tuple[Any, ...]:
        placed = self._placed()
        return type(self), placed[1:], {"args": placed}


def whereabouts(module: str, name: str) -> str:
    """What to write instead of ``module.name``, or an empty string.

    Examples
    --------
    >>> whereabouts("fgrad.numpy", "sigmoid")
    'use fgrad.nn.sigmoid'
    >>> whereabouts("fgrad.numpy", "sqaure")
    'did you mean fgrad.numpy.square?'
    """
    if name.startswith("__"):
        return ""
    if name in _OTHER_NAMES.get(module, ()):
        return f"use {_OTHER_NAMES[module][name]}"
    for namespace in _NAMESPACES:
        if namespace != module and name in _public_names(namespace):
            return f"use {namespace}.{name}"
    near = nearest(name, _public_names(module))
    return f"did you mean {module}.{near}?" if near else ""


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that is written most like a name, or an empty string."""
    by_lower_case = {candidate.lower(): candidate for candidate in known}
    found = difflib.get_close_matches(name.lower(), by_lower_case, n=1)
    return by_lower_case[found[0]] if found else ""


def _public_names(namespace: str) -> Iterable[str]:
    # One that is still being imported has none yet.
    module = sys.modules.get(namespace) or importlib.import_module(namespace)
    names = getattr(module, "__all__", None)
    return names if names is not None else [n for n in vars(module) if not n.startswith("_")]
