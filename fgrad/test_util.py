"""Checks of derivatives: against differences in forward mode, and against forward mode in reverse mode."""

from __future__ import annotations

import sys as _sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fgrad import _tree
from fgrad.array import Array, value, wrap
from fgrad.avals import aval_of
from fgrad.dtypes import float0, is_inexact
from fgrad.errors import ArgumentError
from fgrad.primitives.families import match_aval
from fgrad.source_info import function_text
from fgrad.source_info import guard as _guard
from fgrad.transforms.jvp import jvp
from fgrad.transforms.vjp import vjp

__all__ = ["check_close", "check_grads", "check_jvp", "check_vjp", "numerical_jvp"]

# By the bits of a real number: the step of a fourth-order difference, and the tolerance on its
# result.
_STEPS = {16: 1e-1, 32: 1e-2, 64: 1e-4}
_TOLERANCES = {16: 5e-2, 32: 2e-3, 64: 1e-6}
# Fourth-order central difference: at these multiples of the step, with these weights.
_STENCIL = ((1, 2 / 3), (-1, -2 / 3), (2, -1 / 12), (-2, 1 / 12))


def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int,
    modes: Sequence[str] = ("fwd", "rev"),
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
) -> None:
    """Check the derivatives of `f` at `args` up to an order, in all combinations of the modes.

    Forward mode is compared with differences along random directions, reverse mode with the
    products ``<ct, f'(x) t> == <f'(x)^T ct, t>``. The directions are the same in each run.

    Parameters
    ----------
    f : callable
        A function of arrays or of trees of arrays, smooth around `args`. Real or complex.
    args : tuple
        The point at which to check. Integers stay where they are.
    order : int
        The highest order of derivatives, from 1.
    modes : sequence of str
        Some of ``"fwd"`` and ``"rev"``.
    atol, rtol : float, optional
        Tolerances; by default they follow from the narrowest dtype that takes part.
    eps : float, optional
        The step of the differences.

    Raises
    ------
    AssertionError
        If values or derivatives differ, naming the output or argument, the mode and the order.
    ArgumentError
        If `order` is below 1, or `modes` holds anything else.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> from fgrad.test_util import check_grads
    >>> check_grads(lambda x: fnp.sin(x) * x, (0.7,), order=2)
    """
    listed = (modes,) if isinstance(modes, str) else tuple(modes)
    if not listed or not set(listed) <= {"fwd", "rev"}:
        raise ArgumentError(f"check_grads: modes is {modes!r}; give some of 'fwd' and 'rev'")
    if order < 1:
        raise ArgumentError(f"check_grads: order is {order}; give 1 or more")
    rng = np.random.default_rng(20)
    _check_order(f, tuple(args), order, listed, (atol, rtol, eps), rng, "")


def _check_order(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    order: int,
    modes: tuple[str, ...],
    options: tuple[float | None, float | None, float | None],
    rng: np.random.Generator,
    path: str,
) -> None:
    for mode in modes:
        where = f"{path}{' of ' if path else ''}{mode}"
        if mode == "fwd":
            check_jvp(f, lambda p, t: jvp(f, p, t), args, *options, err_msg=where)
        else:
            check_vjp(f, lambda *p: vjp(f, *p), args, *options, err_msg=where)
        if order == 1:
            continue
        if mode == "fwd":
            derived = _pushed(f, _directions(args, rng))
        else:
            derived = _pulled(f, _directions(f(*args), rng))
        _check_order(derived, args, order - 1, modes, options, rng, where)


def _pushed(f: Callable[..., Any], tangents: tuple[Any, ...]) -> Callable[..., Any]:
    def derivative(*args: Any) -> Any:
        return _inexact(jvp(f, args, tangents)[1])

    return derivative


def _pulled(f: Callable[..., Any], cotangents: Any) -> Callable[..., Any]:
    def derivative(*args: Any) -> Any:
        return _inexact(vjp(f, *args)[1](cotangents))

    return derivative


def _inexact(tree: Any) -> list[Any]:
    return [leaf for leaf in _tree.leaves(tree) if _is_inexact(leaf)]


def check_jvp(
    f: Callable[..., Any],
    f_jvp: Callable[..., Any],
    args: Sequence[Any],
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
    err_msg: str = "",
) -> None:
    """Check a forward derivative against differences along a random direction.

    Parameters
    ----------
    f : callable
    f_jvp : callable
        From primals and tangents, two tuples, to the value and the tangent of the result, as
        ``functools.partial(fgrad.jvp, f)``.
    args : tuple
    atol, rtol, eps : float, optional
        As for `check_grads`.
    err_msg : str
        What messages begin with.

    Raises
    ------
    AssertionError
        If the value or the tangent differs.

    Examples
    --------
    >>> import fgrad, fgrad.numpy as fnp
    >>> from fgrad.test_util import check_jvp
    >>> check_jvp(fnp.sin, lambda p, t: fgrad.jvp(fnp.sin, p, t), (0.3,))
    """
    args = tuple(args)
    tangents = _directions(args, np.random.default_rng(21))
    out, tangent_out = f_jvp(args, tangents)
    expected_out = f(*args)
    name = f"{err_msg}{': ' if err_msg else ''}"
    check_close(out, expected_out, atol, rtol, f"{name}the value under jvp of {function_text(f)}")
    expected = numerical_jvp(f, args, tangents, eps)
    tolerances = _tolerances((args, expected_out), atol, rtol)
    check_close(
        tangent_out,
        expected,
        *tolerances,
        f"{name}the tangent of {function_text(f)}, against differences",
    )


def check_vjp(
    f: Callable[..., Any],
    f_vjp: Callable[..., Any],
    args: Sequence[Any],
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
    err_msg: str = "",
) -> None:
    """Check a pullback against differences along a random direction, by a product with a random cotangent.

    Parameters
    ----------
    f : callable
    f_vjp : callable
        From the arguments to the value and the pullback, as ``functools.partial(fgrad.vjp, f)``.
    args : tuple
    atol, rtol, eps : float, optional
        As for `check_grads`.
    err_msg : str
        What messages begin with.

    Raises
    ------
    AssertionError
        If the value or the product differs, or a cotangent has not the type of its argument.

    Examples
    --------
    >>> import fgrad, fgrad.numpy as fnp
    >>> from fgrad.test_util import check_vjp
    >>> check_vjp(fnp.sin, lambda x: fgrad.vjp(fnp.sin, x), (0.3,))
    """
    args = tuple(args)
    rng = np.random.default_rng(22)
    out, pullback = f_vjp(*args)
    name = f"{err_msg}{': ' if err_msg else ''}"
    expected_out = f(*args)
    check_close(out, expected_out, atol, rtol, f"{name}the value under vjp of {function_text(f)}")
    cotangents = _directions(expected_out, rng)
    pulled = pullback(cotangents)
    _check_types(pulled, args, f"{name}the cotangents of {function_text(f)}")
    tolerances = _tolerances((args, expected_out), atol, rtol)
    # Each argument is moved alone, so that a message can name it.
    leaves, treedef = _tree.flatten(args)
    names = _tree.leaf_names(args, "args")
    moving = _tree.leaves(_directions(args, rng))
    still = [_no_direction(leaf) for leaf in leaves]
    for i, (leaf, ct) in enumerate(zip(leaves, _tree.leaves(pulled), strict=True)):
        if not _is_inexact(leaf):
            continue
        tangents = _tree.unflatten(treedef, [*still[:i], moving[i], *still[i + 1 :]])
        pushed = numerical_jvp(f, args, tangents, eps)
        check_close(
            _product([ct], [moving[i]]),
            _product(_tree.leaves(cotangents), _tree.leaves(pushed)),
            *tolerances,
            f"{name}the cotangent of {names[i]} of {function_text(f)}, against differences by products",
        )


def numerical_jvp(
    f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], eps: float | None = None
) -> Any:
    """The derivative of `f` along a direction, by fourth-order central differences.

    Parameters
    ----------
    f : callable
    primals, tangents : tuple
        The point and the direction, as for ``fgrad.jvp``.
    eps : float, optional
        The step; by default it follows from the narrowest dtype that takes part.

    Returns
    -------
    tree
        Like the result of `f`; zeros of dtype ``float0`` for integers.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> from fgrad.test_util import numerical_jvp
    >>> round(float(numerical_jvp(fnp.sin, (0.0,), (2.0,))), 6)
    2.0
    """
    leaves, treedef = _tree.flatten(tuple(primals))
    directions = _tree.leaves(tuple(tangents))
    out = f(*primals)
    step = eps or _STEPS[_bits((primals, out))]
    out_leaves, out_treedef = _tree.flatten(out)
    totals: list[Any] = [0.0] * len(out_leaves)
    for multiple, weight in _STENCIL:
        moved = [_moved(p, t, multiple * step) for p, t in zip(leaves, directions, strict=True)]
        results = _tree.leaves(f(*_tree.unflatten(treedef, moved)))
        for i, result in enumerate(results):
            if _is_inexact(result):
                totals[i] = totals[i] + weight * _wide(result)
    return _tree.unflatten(
        out_treedef,
        [
            wrap(match_aval(value(total / step), aval_of(value(leaf))))
            if _is_inexact(leaf)
            else np.zeros(np.shape(leaf), float0)
            for total, leaf in zip(totals, out_leaves, strict=True)
        ],
    )


def check_close(
    actual: Any,
    expected: Any,
    atol: float | None = None,
    rtol: float | None = None,
    err_msg: str = "",
) -> None:
    """Check that two trees have one structure, the same shapes and dtypes, and near values.

    Parameters
    ----------
    actual, expected : tree of arrays
    atol, rtol : float, optional
        Tolerances; by default they follow from the narrowest dtype.
    err_msg : str
        What the message begins with.

    Raises
    ------
    AssertionError
        Naming the leaf and both values.

    Examples
    --------
    >>> from fgrad.test_util import check_close
    >>> check_close({"a": 1.0}, {"a": 1.0 + 1e-12})
    """
    leaves, treedef = _tree.flatten(actual)
    wanted, expected_treedef = _tree.flatten(expected)
    name = err_msg or "the result"
    if treedef != expected_treedef:
        raise AssertionError(f"{name}: the structure is {treedef}, expected {expected_treedef}")
    _check_types(actual, expected, name)
    absolute, relative = _tolerances((actual, expected), atol, rtol)
    for leaf_name, a, b in zip(_tree.leaf_names(expected, ""), leaves, wanted, strict=True):
        if aval_of(value(b)).dtype == float0:
            continue
        np.testing.assert_allclose(
            _wide(a),
            _wide(b),
            rtol=relative,
            atol=absolute,
            err_msg=f"{name}{' ' if leaf_name else ''}{leaf_name}",
        )


def _check_types(actual: Any, expected: Any, name: str) -> None:
    pairs = zip(
        _tree.leaves(actual), _tree.leaves(expected), _tree.leaf_names(expected, ""), strict=True
    )
    for a, b, leaf_name in pairs:
        own, wanted = aval_of(value(a)), aval_of(value(b))
        dtype = wanted.dtype
        if own.dtype == float0:
            dtype = float0 if not is_inexact(dtype) else dtype
        if own.shape != wanted.shape or own.dtype != dtype:
            raise AssertionError(f"{name} {leaf_name}: the type is {own}, expected {wanted}")


def _is_inexact(leaf: Any) -> bool:
    return is_inexact(aval_of(value(leaf)).dtype)


def _wide(x: Any) -> Any:
    array = np.asarray(x)
    if array.dtype.kind == "c":
        return array.astype(np.complex128)
    return array.astype(np.float64) if array.dtype.kind == "f" else array


def _bits(tree: Any) -> int:
    dtypes = [aval_of(value(leaf)).dtype for leaf in _tree.leaves(tree) if _is_inexact(leaf)]
    return min((d.itemsize * 8 // (1 + (d.kind == "c")) for d in dtypes), default=64)


def _tolerances(trees: Any, atol: float | None, rtol: float | None) -> tuple[float, float]:
    usual = _TOLERANCES[_bits(trees)]
    return usual if atol is None else atol, usual if rtol is None else rtol


def _directions(tree: Any, rng: np.random.Generator) -> Any:
    """A random direction: float0 for integers."""
    leaves, treedef = _tree.flatten(tree)
    return _tree.unflatten(treedef, [_direction(leaf, rng) for leaf in leaves])


def _direction(leaf: Any, rng: np.random.Generator) -> Any:
    aval = aval_of(value(leaf))
    if not is_inexact(aval.dtype):
        return _no_direction(leaf)
    numbers = rng.normal(size=aval.shape)
    if aval.dtype.kind == "c":
        numbers = numbers + 1j * rng.normal(size=aval.shape)
    return wrap(match_aval(np.asarray(numbers), aval))


def _no_direction(leaf: Any) -> Any:
    aval = aval_of(value(leaf))
    if not is_inexact(aval.dtype):
        return np.zeros(aval.shape, float0)
    return wrap(match_aval(np.zeros(aval.shape), aval))


def _moved(primal: Any, tangent: Any, distance: float) -> Any:
    if not _is_inexact(primal):
        return primal
    moved = _wide(primal) + distance * _wide(tangent)
    return wrap(match_aval(moved, aval_of(value(primal))))


def _product(cotangents: Sequence[Any], tangents: Sequence[Any]) -> Array:
    """The real pairing of cotangents with tangents, which does not conjugate."""
    pairs = [
        (_wide(c), _wide(t)) for c, t in zip(cotangents, tangents, strict=True) if _is_inexact(c)
    ]
    return wrap(float(sum((np.sum(c * t).real for c, t in pairs), 0.0)))  # type: ignore[no-any-return]


_guard(_sys.modules[__name__])
