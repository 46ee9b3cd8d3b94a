"""Optimizers of trees made of rules for one array, and the states that they keep."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from fgrad import tree, tree_util
from fgrad.errors import ArgumentError, TreeStructureError
from fgrad.source_info import boundary
from fgrad.transforms._arguments import tree_text

#: Names for annotations, as JAX has them.
Params: TypeAlias = Any
State: TypeAlias = Any
Updates: TypeAlias = Params
Step: TypeAlias = int
Rules: TypeAlias = tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]


class Optimizer(NamedTuple):
    """The three functions of an optimizer.

    ``init_fn(params)`` is the first state, ``update_fn(step, gradients, state)`` the next one, and
    ``params_fn(state)`` the parameters in it.
    """

    init_fn: Callable[[Params], Any]
    update_fn: Callable[[Any, Updates, Any], Any]
    params_fn: Callable[[Any], Params]


class OptimizerState(NamedTuple):
    """The state of an optimizer: a tree whose leaves are arrays."""

    packed_state: Any
    tree_def: Any
    subtree_defs: Any


InitFn: TypeAlias = Callable[[Params], OptimizerState]
UpdateFn: TypeAlias = Callable[[Step, Updates, OptimizerState], OptimizerState]
ParamsFn: TypeAlias = Callable[[OptimizerState], Params]

tree_util.register_pytree_node(
    OptimizerState,
    lambda state: ((state.packed_state,), (state.tree_def, state.subtree_defs)),
    lambda metadata, children: OptimizerState(children[0], *metadata),
)


class JoinPoint:
    """A leaf that stands for the state that an optimizer keeps of one parameter.

    Parameters
    ----------
    subtree
        That state.

    Examples
    --------
    >>> from fgrad.example_libraries import optimizers
    >>> optimizers.JoinPoint((1.0, 2.0)).subtree
    (1.0, 2.0)
    """

    def __init__(self, subtree: Any) -> None:
        self.subtree = subtree

    def __repr__(self) -> str:
        return f"JoinPoint({self.subtree!r})"


def _unpacked(state: OptimizerState) -> list[Any]:
    """The state of each parameter."""
    return [
        tree.unflatten(treedef, leaves)
        for treedef, leaves in zip(state.subtree_defs, state.packed_state, strict=True)
    ]


def _packed(states: list[Any], treedef: Any) -> OptimizerState:
    pairs = [tree.flatten(state) for state in states]
    leaves, subtrees = [tuple(p[0]) for p in pairs], [p[1] for p in pairs]
    return OptimizerState(tuple(leaves), treedef, tuple(subtrees))


def optimizer(opt_maker: Callable[..., Rules]) -> Callable[..., Optimizer]:
    """Make an optimizer of trees from one of arrays; a decorator.

    Parameters
    ----------
    opt_maker : callable
        Returns three functions of one array: ``init(x)`` is its state, ``update(step, gradient, state)``
        the next one, ``get_params(state)`` the array.

    Returns
    -------
    callable
        Of the same arguments, which returns an `Optimizer`.

    Examples
    --------
    >>> import numpy as np
    >>> import fgrad.numpy as fnp
    >>> from fgrad.example_libraries import optimizers
    >>> @optimizers.optimizer
    ... def signs(rate):
    ...     return lambda x: x, lambda i, g, x: x - rate * fnp.sign(g), lambda x: x
    >>> init, update, params = signs(0.5)
    >>> params(update(0, {"w": np.array([3.0, -2.0])}, init({"w": np.zeros(2)})))
    {'w': Array([-0.5,  0.5], dtype=float64)}
    """

    @functools.wraps(opt_maker)
    def make(*args: Any, **kwargs: Any) -> Optimizer:
        init, update, get_params = opt_maker(*args, **kwargs)

        @boundary
        def init_fn(params: Any) -> OptimizerState:
            leaves, treedef = tree.flatten(params)
            return _packed([init(x) for x in leaves], treedef)

        @boundary
        def update_fn(step: Any, gradients: Any, state: OptimizerState) -> OptimizerState:
            leaves, treedef = tree.flatten(gradients)
            if treedef != state.tree_def:
                raise TreeStructureError(
                    f"{opt_maker.__name__}: the gradients are a tree {tree_text(treedef)}, and the parameters a tree "
                    f"{tree_text(state.tree_def)}; give the gradients towards the parameters that the state was made of"
                )
            old = _unpacked(state)
            new = _packed([update(step, g, s) for g, s in zip(leaves, old, strict=True)], treedef)
            for n, (before, after) in enumerate(
                zip(state.subtree_defs, new.subtree_defs, strict=True)
            ):
                if before != after:
                    raise TreeStructureError(
                        f"{opt_maker.__name__}: update made a state {tree_text(after)} of a state "
                        f"{tree_text(before)}, for parameter number {n}; return the structure that init returns"
                    )
            return new

        @boundary
        def params_fn(state: OptimizerState) -> Any:
            return tree.unflatten(state.tree_def, [get_params(s) for s in _unpacked(state)])

        return Optimizer(init_fn, update_fn, params_fn)

    return make


def unpack_optimizer_state(opt_state: OptimizerState) -> Any:
    """The state as a tree of the parameters' structure, for files.

    Parameters
    ----------
    opt_state : OptimizerState

    Returns
    -------
    pytree
        Its leaves are `JoinPoint`, each with the state of one parameter.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.example_libraries import optimizers
    >>> init, _, _ = optimizers.momentum(0.1, 0.9)
    >>> optimizers.unpack_optimizer_state(init({"w": np.ones(1)}))
    {'w': JoinPoint((Array([1.], dtype=float64), Array([0.], dtype=float64)))}
    """
    return tree.unflatten(opt_state.tree_def, [JoinPoint(state) for state in _unpacked(opt_state)])


def pack_optimizer_state(marked_pytree: Any) -> OptimizerState:
    """The state that `unpack_optimizer_state` made a tree of.

    Parameters
    ----------
    marked_pytree : pytree
        Its leaves are `JoinPoint`.

    Returns
    -------
    OptimizerState

    Raises
    ------
    ArgumentError
        If a leaf is not a `JoinPoint`.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.example_libraries import optimizers
    >>> init, _, params = optimizers.momentum(0.1, 0.9)
    >>> unpacked = optimizers.unpack_optimizer_state(init({"w": np.ones(1)}))
    >>> params(optimizers.pack_optimizer_state(unpacked))
    {'w': Array([1.], dtype=float64)}
    """
    leaves, treedef = tree.flatten(marked_pytree)
    for leaf in leaves:
        if not isinstance(leaf, JoinPoint):
            raise ArgumentError(
                f"pack_optimizer_state: a leaf is of type {type(leaf).__name__}; give a tree of JoinPoint, as "
                "unpack_optimizer_state returns it"
            )
    return _packed([leaf.subtree for leaf in leaves], treedef)
