"""Checks of values while a program runs: alone they raise an error, under `checkify` they are a result."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fgrad import _tree
from fgrad.array import value, wrap
from fgrad.avals import Aval, aval_of
from fgrad.errors import ArgumentError, CheckError, DTypeError, ShapeError
from fgrad.parameters import parameters
from fgrad.primitives.elementwise import convert, not_equal, select
from fgrad.primitives.indexing import Gather
from fgrad.primitives.reduction import Argmax
from fgrad.primitives.shape import spread
from fgrad.source_info import boundary, source_text, user_source
from fgrad.tracing import Primitive

CODE = Aval((), np.dtype(np.int32))
NO_ERROR = np.int32(0)
_codes = itertools.count(1)


class ErrorCategory(enum.Enum):
    """What a check looks for."""

    USER = "checks that the program makes"
    NAN = "operations that make a NaN"
    DIVISION = "divisions by zero"
    INDEX = "indices out of range"


class Site:
    """A place where a check may fail: its code, and the message, made of values that are kept for it."""

    def __init__(
        self,
        category: ErrorCategory,
        source: Any,
        avals: Sequence[Aval],
        text: Callable[..., str],
        debug: bool = False,
    ) -> None:
        self.code = next(_codes)
        self.category = category
        self.source = source
        self.avals = tuple(avals)
        self.text = text
        self.debug = debug

    def message(self, payload: Sequence[Any]) -> str:
        """What went wrong, and where."""
        return f"{self.text(*payload)} ({source_text(self.source)})"

    def __reduce__(self) -> Any:
        raise TypeError(
            "a program with checks cannot be pickled: their messages belong to this process"
        )


@parameters
class Check(Primitive):
    """Fail where a code says so; values for the messages follow.   i32[] *payloads ->"""

    sites: tuple[Site, ...]
    multiple_results = True
    differentiable = False
    effectful = True
    creates = True

    def staged(self) -> bool:
        """A check of known values waits for the program that is being recorded to run."""
        return True

    def params(self) -> dict[str, Any]:
        return {}

    def payloads(self, values: Sequence[Any]) -> list[tuple[Site, list[Any]]]:
        """The values of each site."""
        rest = iter(values)
        return [(site, [next(rest) for _ in site.avals]) for site in self.sites]

    def abstract_eval(self, *avals: Aval) -> Sequence[Aval]:
        return []

    def impl(self, *values: Any) -> Sequence[Any]:
        code, *rest = values
        if code:
            for site, payload in self.payloads(rest):
                if site.code == code and not site.debug:
                    raise CheckError(site.message([wrap(v) for v in payload]))
        return []

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        if not size:
            return [], ()
        code, *rest = args
        # The first example that fails stands for all of them.
        codes = code if mapped[0] else spread(code, size)
        example = Argmax(0)(not_equal(codes, 0))
        first = [
            Gather((0,), "promise_in_bounds")(x, example) if m else x
            for x, m in zip((codes, *rest), (True, *mapped[1:]), strict=True)
        ]
        return self(*first), ()


# ---- what programs call --------------------------------------------------------------------------


def _strong(x: Any, what: str) -> Any:
    inside = value(x, what)
    aval = aval_of(inside)
    return convert(inside, aval.dtype) if aval.weak else inside


def bind_check(user: str, pred: Any, msg: Any, debug: bool, args: Any, kwargs: Any) -> None:
    """Record or make a check."""
    if not isinstance(msg, str):
        raise ArgumentError(f"{user}: msg is {msg!r}; give a string, with {{}} where values go")
    holds = value(pred, f"{user}: pred")
    aval = aval_of(holds)
    if aval.shape:
        raise ShapeError(
            f"{user}: pred has shape {aval.shape}; give one truth value, as fgrad.numpy.all(pred) makes it"
        )
    if aval.dtype.kind != "b":
        raise DTypeError(
            f"{user}: pred has dtype {aval.dtype}; give a truth value, as x > 0 is one"
        )
    leaves, treedef = _tree.flatten((args, kwargs))
    payload = [_strong(leaf, f"{user}: a value for the message") for leaf in leaves]

    def text(*values: Any) -> str:
        positional, named = _tree.unflatten(treedef, list(values))
        return msg.format(*positional, **named)

    try:
        text(*leaves)
    except (IndexError, KeyError, ValueError) as error:
        raise ArgumentError(
            f"{user}: the message {msg!r} does not fit its {len(leaves)} values ({type(error).__name__}: {error})"
        ) from None
    site = Site(ErrorCategory.USER, user_source(2), [aval_of(v) for v in payload], text, debug)
    Check((site,))(select(holds, NO_ERROR, np.int32(site.code)), *payload)


@boundary
def check(pred: Any, msg: str, *fmt_args: Any, debug: bool = False, **fmt_kwargs: Any) -> None:
    """Check that something holds each time that the program gets here.

    Parameters
    ----------
    pred : bool or array_like of bool
        A scalar.
    msg : str
        What to say if it does not hold: a text as for ``str.format``.
    *fmt_args, **fmt_kwargs : array_like
        Values that go into the message.
    debug : bool
        Whether the check counts under `checkify` only.

    Raises
    ------
    CheckError
        If it does not hold, at once or when the compiled function runs; under `checkify` there is no such
        error, but a result that tells of it.
    ArgumentError, ShapeError, DTypeError
        If the message does not fit its values, or `pred` is not one truth value.

    Examples
    --------
    >>> import fgrad, fgrad.numpy as fnp
    >>> from fgrad.experimental import checkify
    >>> def f(x):
    ...     checkify.check(x > 0.0, "x must be positive, got {}", x)
    ...     return fnp.log(x)
    >>> float(fgrad.jit(f)(1.0))
    0.0
    >>> fgrad.jit(f)(-1.0)  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    fgrad.errors.CheckError: x must be positive, got -1.0
    """
    bind_check("check", pred, msg, debug, fmt_args, fmt_kwargs)


@boundary
def debug_check(pred: Any, msg: str, *fmt_args: Any, **fmt_kwargs: Any) -> None:
    """Check that something holds, under `checkify` only.

    Parameters
    ----------
    pred, msg, *fmt_args, **fmt_kwargs
        As for `check`.

    Raises
    ------
    ArgumentError, ShapeError, DTypeError
        If the message does not fit its values, or `pred` is not one truth value.

    Examples
    --------
    >>> from fgrad.experimental import checkify
    >>> checkify.debug_check(False, "nobody looks")
    >>> error, _ = checkify.checkify(lambda: checkify.debug_check(False, "somebody looks"))()
    >>> error.get()[:14]
    'somebody looks'
    """
    bind_check("debug_check", pred, msg, True, fmt_args, fmt_kwargs)
