"""Calls of Python functions at run time: for values that NumPy code cannot compute, and for effects.

An effect happens each time that the program runs, in program order, and for every example: it is never
dropped, merged or repeated. A function whose value is all that counts may run any number of times.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fgrad import _tree
from fgrad.array import value, wrap
from fgrad.avals import Aval, aval_of
from fgrad.dtypes import canonical, is_inexact
from fgrad.errors import ArgumentError, CallbackError, NonDifferentiableError
from fgrad.parameters import parameters
from fgrad.primitives.shape import expand_dims, spread
from fgrad.source_info import boundary, function_text
from fgrad.tracing import Primitive, open_body
from fgrad.transforms._arguments import check_callable, leaf_values
from fgrad.transforms.lanes import lane_by_lane

PyTree = Any
VMAP_METHODS = ("sequential", "expand_dims", "broadcast_all", "legacy_vectorized")


class Host:
    """A Python function of trees, called with flat values."""

    def __init__(
        self, user: str, function: Callable[..., Any], in_treedef: Any, out_treedef: Any
    ) -> None:
        self.user = user
        self.function = function
        self.in_treedef = in_treedef
        self.out_treedef = out_treedef

    def __repr__(self) -> str:
        return function_text(self.function)

    def __call__(self, values: Sequence[Any], declared: Sequence[Aval]) -> list[Any]:
        args, kwargs = _tree.unflatten(self.in_treedef, [wrap(v) for v in values])
        # What the function computes is its own: no trace that is open here records it.
        with open_body(None):
            result = self.function(*args, **kwargs)
        if self.out_treedef is None:
            return []
        leaves, treedef = _tree.flatten(result)
        where = f"{self.user} of {function_text(self.function)}"
        if treedef != self.out_treedef:
            raise CallbackError(
                f"{where}: the function returned a result of structure {treedef}, declared is {self.out_treedef}"
            )
        names = _tree.leaf_names(result, "the result")
        return [
            self.checked(where, name, leaf, aval)
            for name, leaf, aval in zip(names, leaves, declared, strict=True)
        ]

    def checked(self, where: str, name: str, leaf: Any, declared: Aval) -> Any:
        """A copy of a result, of the declared type."""
        own = aval_of(value(leaf, f"{where}: {name}"))
        if own.shape != declared.shape or not (own.weak or own.dtype == declared.dtype):
            raise CallbackError(
                f"{where}: {name} has type {own}, declared is {declared}; return what result_shape_dtypes says"
            )
        # The function may keep what it returned, and write to it.
        return np.array(leaf, declared.dtype)[()]


@parameters
class HostCall(Primitive):
    """Call a Python function with the values.   *operands -> *results"""

    host: Host
    results: tuple[Aval, ...]
    has_effect: bool
    vmap_method: str | None = None
    multiple_results = True
    keeps_residuals = True
    creates = True

    @property
    def name(self) -> str:
        return self.host.user

    @property
    def effectful(self) -> bool:  # type: ignore[override]
        return self.has_effect

    def staged(self) -> bool:
        """A call on known values waits for the program that is being recorded: a branch may not run."""
        return True

    @property
    def differentiable(self) -> bool:  # type: ignore[override]
        # Results without a derivative pass through as known values.
        return any(is_inexact(aval.dtype) for aval in self.results)

    def abstract_eval(self, *avals: Aval) -> Sequence[Aval]:
        return list(self.results)

    def impl(self, *values: Any) -> Sequence[Any]:
        return self.host(values, self.results)

    def push(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        raise self.no_derivative()

    def pull(self, needs: Sequence[bool], args: Sequence[Any]) -> tuple[Any, Any]:
        raise self.no_derivative()

    def no_derivative(self) -> NonDifferentiableError:
        return NonDifferentiableError(
            f"{self.name} of {self.host}: the derivative of a Python function that is called at run time is "
            "unknown; give it one with fgrad.custom_jvp or fgrad.custom_vjp, or cut it with "
            "fgrad.lax.stop_gradient on the arguments"
        )

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        everything = (True,) * len(self.results)
        method = self.vmap_method
        if self.has_effect or method == "sequential":
            return lane_by_lane(self, size, args, mapped), everything
        if method is None:
            raise ArgumentError(
                f"{self.name} of {self.host}: under vmap it needs vmap_method; give 'sequential' to call it for one "
                "example after the other, 'expand_dims' or 'broadcast_all' if it takes a leading batch axis"
            )
        if method != "legacy_vectorized":
            args = [
                x if m else spread(x, size) if method == "broadcast_all" else expand_dims(x, (0,))
                for x, m in zip(args, mapped, strict=True)
            ]
        whole = tuple([Aval((size, *aval.shape), aval.dtype) for aval in self.results])
        return HostCall(self.host, whole, False, method)(*args), everything


def _declared(user: str, tree: PyTree) -> tuple[tuple[Aval, ...], Any]:
    """The types of results, from arrays or `ShapeDtypeStruct`."""
    leaves, treedef = _tree.flatten(tree)
    avals = []
    for leaf in leaves:
        if not (hasattr(leaf, "shape") and hasattr(leaf, "dtype")):
            raise ArgumentError(
                f"{user}: result_shape_dtypes holds {leaf!r}; give fgrad.ShapeDtypeStruct(shape, dtype), or an array "
                "of that type"
            )
        avals.append(Aval(tuple(leaf.shape), canonical(np.dtype(leaf.dtype))))
    return tuple(avals), treedef


def _call(
    user: str,
    function: Callable[..., Any],
    declared: tuple[tuple[Aval, ...], Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    has_effect: bool,
    vmap_method: str | None = None,
) -> list[Any]:
    check_callable(function, user)
    leaves, treedef = _tree.flatten((args, kwargs))
    values = leaf_values(leaves, user, function, args, kwargs)
    results, out_treedef = declared
    host = Host(user, function, treedef, out_treedef)
    return HostCall(host, results, has_effect, vmap_method)(*values)  # type: ignore[no-any-return]


@boundary
def pure_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: PyTree,
    *args: Any,
    sharding: Any = None,
    vectorized: bool | None = None,
    vmap_method: str | None = None,
    **kwargs: Any,
) -> PyTree:
    """Call a function of NumPy arrays that fgrad does not look into.

    Parameters
    ----------
    callback : callable
        A pure function: it may be called more than once, or not at all if its result is not used. It gets
        read-only arrays, and may use any library.
    result_shape_dtypes : tree of ShapeDtypeStruct or arrays
        The types of its results.
    *args, **kwargs
        Trees of arrays for the function.
    sharding
        Accepted and ignored.
    vectorized : bool, optional
        Older name of ``vmap_method="legacy_vectorized"``; False is ``"sequential"``.
    vmap_method : str, optional
        What ``vmap`` does: ``"sequential"`` calls the function for one example after the other;
        ``"broadcast_all"`` gives all arguments a leading axis for the examples and calls it once;
        ``"expand_dims"`` the same, with size one for arguments that are the same for all examples;
        ``"legacy_vectorized"`` leaves those as they are.

    Returns
    -------
    tree
        Arrays of the declared types. Not differentiable; give the function a rule with
        `fgrad.custom_jvp` or `fgrad.custom_vjp`.

    Raises
    ------
    CallbackError
        If the results are not of the declared types.
    NonDifferentiableError
        If a derivative is asked for.

    Examples
    --------
    >>> import fgrad, numpy as np, scipy.special
    >>> like = fgrad.ShapeDtypeStruct((3,), np.float64)
    >>> f = fgrad.jit(lambda x: fgrad.pure_callback(scipy.special.airy, (like,) * 4, x)[0])
    >>> f(np.zeros(3)).round(3)
    Array([0.355, 0.355, 0.355], dtype=float64)
    """
    if vmap_method is None and vectorized is not None:
        vmap_method = "legacy_vectorized" if vectorized else "sequential"
    if vmap_method not in (None, *VMAP_METHODS):
        raise ArgumentError(
            f"pure_callback: vmap_method is {vmap_method!r}; give one of {', '.join(map(repr, VMAP_METHODS))}"
        )
    declared = _declared("pure_callback", result_shape_dtypes)
    outs = _call("pure_callback", callback, declared, args, kwargs, False, vmap_method)
    return _tree.unflatten(declared[1], [wrap(out) for out in outs])


@boundary
def io_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: PyTree,
    *args: Any,
    sharding: Any = None,
    ordered: bool = False,
    **kwargs: Any,
) -> PyTree:
    """Call a function that reads or changes something: a file, a counter, a simulator.

    Parameters
    ----------
    callback : callable
        It is called exactly once each time that the program gets there, in program order; under ``vmap``
        once for each example, in their order.
    result_shape_dtypes : tree of ShapeDtypeStruct or arrays
        The types of its results; None for a function that returns nothing.
    *args, **kwargs
        Trees of arrays for the function.
    sharding
        Accepted and ignored.
    ordered : bool
        Accepted: calls are always in order.

    Returns
    -------
    tree
        Arrays of the declared types. Not differentiable.

    Raises
    ------
    CallbackError
        If the results are not of the declared types, or the call is in a function under ``checkpoint``.
    NonDifferentiableError
        If a derivative is asked for.

    Examples
    --------
    >>> import fgrad, numpy as np
    >>> from fgrad.experimental import io_callback
    >>> seen = []
    >>> f = fgrad.jit(lambda x: io_callback(lambda v: seen.append(float(v)), None, x))
    >>> f(1.0), f(2.0), seen
    (None, None, [1.0, 2.0])
    """
    declared = _declared("io_callback", result_shape_dtypes)
    outs = _call("io_callback", callback, declared, args, kwargs, True)
    return _tree.unflatten(declared[1], [wrap(out) for out in outs])


def effect(user: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Call a function for its effect alone, whatever it returns."""
    _call(user, function, ((), None), args, kwargs, True)
