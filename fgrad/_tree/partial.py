"""Partial: a `functools.partial` that is a tree node."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from fgrad._tree.nodes import register_node


class _PlainCallable:
    """A functools.partial as the function of a Partial, which would otherwise merge with it."""

    def __init__(self, fun: functools.partial[Any]) -> None:
        self.fun = fun
        self.func, self.args, self.keywords = fun.func, fun.args, fun.keywords

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.fun(*args, **kwargs)

    def __hash__(self) -> int:
        return hash(self.fun)

    def __eq__(self, other: object) -> bool:
        return bool(self.fun == (other.fun if isinstance(other, _PlainCallable) else other))

    def __repr__(self) -> str:
        return repr(self.fun)


class Partial(functools.partial[Any]):
    """A `functools.partial` that is a tree node: its bound arguments are children.

    It can be passed to and returned from transformed functions, where its arguments are traced
    and its function is metadata.

    Parameters
    ----------
    func
        The function; a `functools.partial` stays one argument-free unit.
    *args, **keywords
        The bound arguments, pytrees of arrays.

    Examples
    --------
    >>> from fgrad import tree
    >>> from fgrad.tree_util import Partial
    >>> add_one = Partial(max, 1.0)
    >>> add_one(3.0)
    3.0
    >>> tree.leaves(add_one)
    [1.0]
    >>> tree.map(lambda x: 10 * x, add_one)(3.0)
    10.0
    """

    def __new__(cls, func: Callable[..., Any], /, *args: Any, **keywords: Any) -> Partial:
        if isinstance(func, functools.partial):
            func = _PlainCallable(func)
        return super().__new__(cls, func, *args, **keywords)


Partial.__module__ = "fgrad.tree_util"
register_node(
    Partial,
    lambda partial: ((partial.args, partial.keywords), partial.func),
    lambda func, bound: Partial(func, *bound[0], **bound[1]),
)
