"""Functions as libraries on JAX wrap them before they look at what they record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fgrad import tree
from fgrad.errors import ArgumentError

__all__ = [
    "WrappedFun",
    "debug_info",
    "flatten_fun",
    "flatten_fun_nokwargs",
    "safe_map",
    "transformation",
    "wrap_init",
]


class WrappedFun:
    """A function, with keyword arguments that it is given at each call."""

    def __init__(self, f: Callable[..., Any], params: dict[str, Any]) -> None:
        self.f = f
        self.params = params

    def call_wrapped(self, *args: Any, **kwargs: Any) -> Any:
        """The result of the function."""
        return self.f(*args, **{**self.params, **kwargs})


def wrap_init(f: Callable[..., Any], params: Any = None, *, debug_info: Any = None) -> WrappedFun:
    """Wrap a function; `debug_info` is for messages of JAX, and is not used."""
    return WrappedFun(f, dict(params or {}))


def transformation(rule: Callable[..., Any]) -> Callable[..., WrappedFun]:
    """What makes wrapped functions of others, from a generator.

    It yields the arguments of the inner function, by position and by name, is sent the result, and yields that of
    the outer function.
    """

    def around(fun: WrappedFun, *settings: Any) -> WrappedFun:
        def outer(*args: Any, **kwargs: Any) -> Any:
            steps = rule(*settings, *args, **kwargs)
            inner_args, inner_kwargs = next(steps)
            return steps.send(fun.call_wrapped(*inner_args, **inner_kwargs))

        return WrappedFun(outer, {})

    return around


def debug_info(*args: Any, **kwargs: Any) -> None:
    """What messages would say of a function: fgrad finds it out for itself."""


def _flattened(fun: WrappedFun, in_tree: Any, has_kwargs: bool) -> Any:
    structures: list[Any] = []

    def flat(*leaves: Any) -> list[Any]:
        arguments = tree.unflatten(in_tree, leaves)
        args, kwargs = arguments if has_kwargs else (arguments, {})
        out, structure = tree.flatten(fun.call_wrapped(*args, **kwargs))
        structures[:] = [structure]
        return out

    def out_tree() -> Any:
        if not structures:
            raise ArgumentError(
                "out_tree: the function has not run, so that the structure of its result is unknown"
            )
        return structures[0]

    return WrappedFun(flat, {}), out_tree


def flatten_fun(fun: WrappedFun, in_tree: Any) -> tuple[WrappedFun, Callable[[], Any]]:
    """A function of the leaves of ``(args, kwargs)`` to those of the result, whose structure is second."""
    return _flattened(fun, in_tree, True)  # type: ignore[no-any-return]


def flatten_fun_nokwargs(fun: WrappedFun, in_tree: Any) -> tuple[WrappedFun, Callable[[], Any]]:
    """As `flatten_fun`, for the leaves of ``args`` alone."""
    return _flattened(fun, in_tree, False)  # type: ignore[no-any-return]


def safe_map(f: Callable[..., Any], *args: Any) -> list[Any]:
    """A list of results, of sequences that have the same length."""
    columns = [list(arg) for arg in args]
    if len({len(column) for column in columns}) > 1:
        raise ArgumentError(f"safe_map: sequences of lengths {[len(c) for c in columns]}")
    return [f(*row) for row in zip(*columns, strict=True)]
