"""Names for parts of a program, which its equations, its compiled code and its messages carry."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from types import TracebackType
from typing import Any

from fgrad.errors import ArgumentError
from fgrad.source_info import boundary, function_name, scope_of_names
from fgrad.transforms._arguments import check_callable, transformed


class named_scope(contextlib.ContextDecorator):
    """A context, or decorator, in which operations are recorded under a name.

    The name stands beside the user's line in compiled code, and in messages about values that were computed
    there. Scopes nest: ``block/attention``.

    Parameters
    ----------
    name : str

    Raises
    ------
    ArgumentError
        If `name` is not a string.

    Examples
    --------
    >>> import fgrad, fgrad.numpy as fnp
    >>> @fgrad.jit
    ... def f(x):
    ...     with fgrad.named_scope("wave"):
    ...         return fnp.sin(x)
    >>> "in wave)" in f.lower(1.0).source
    True
    """

    @boundary
    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise ArgumentError(f"named_scope: name is {name!r}; give a string")
        self.name = name
        self._tokens: list[Any] = []

    def __enter__(self) -> None:
        outer = scope_of_names.get()
        self._tokens.append(scope_of_names.set(f"{outer}/{self.name}" if outer else self.name))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        scope_of_names.reset(self._tokens.pop())

    def _recreate_cm(self) -> named_scope:
        # Each call of a decorated function enters a context of its own, in threads too.
        return named_scope(self.name)


def named_call(fun: Callable[..., Any], *, name: str | None = None) -> Callable[..., Any]:
    """Make the operations of a function be recorded under a name.

    Parameters
    ----------
    fun : callable
    name : str, optional
        That of the function by default.

    Returns
    -------
    callable
        `fun`, run in a `named_scope`.

    Examples
    --------
    >>> import fgrad, fgrad.numpy as fnp
    >>> f = fgrad.named_call(fnp.sin, name="wave")
    >>> "in wave)" in fgrad.jit(lambda x: f(x)).lower(1.0).source
    True
    """
    check_callable(fun, "named_call")
    scope = named_scope(function_name(fun) if name is None else name)

    @transformed(fun, "named_call", named_call, name=name)
    def named(*args: Any, **kwargs: Any) -> Any:
        with scope._recreate_cm():
            return fun(*args, **kwargs)

    return named
