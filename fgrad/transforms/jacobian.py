"""Jacobians and Hessians: a basis pushed or pulled through, all directions at once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from fgrad import _tree
from fgrad.array import value, wrap
from fgrad.avals import Aval, aval_of
from fgrad.dtypes import is_inexact
from fgrad.errors import DifferentiationTypeError
from fgrad.primitives.families import match_aval
from fgrad.primitives.shape import Eye, moveaxis, reshape, static_index
from fgrad.source_info import boundary, function_text
from fgrad.transforms._arguments import (
    check_argnums,
    check_callable,
    chosen_leaf_names,
    leaf_value,
    normal_argnums,
    transformed,
)
from fgrad.transforms.jvp import jvp
from fgrad.transforms.linearize import linearize
from fgrad.transforms.loops import map
from fgrad.transforms.vjp import vjp
from fgrad.transforms.vmap import vmap


def _with_arguments(
    f: Callable[..., Any],
    argnums: Any,
    transform: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """A function of the chosen arguments alone, those arguments, their leaves and how to name one."""
    numbers = normal_argnums(f, argnums, len(args), transform)

    def partial(*chosen: Any) -> Any:
        inner = list(args)
        for number, arg in zip(numbers, chosen, strict=True):
            inner[number] = arg
        return f(*inner, **kwargs)

    partial.__name__ = getattr(f, "__name__", "f")
    partial.__wrapped__ = f  # type: ignore[attr-defined]
    chosen = tuple(args[n] for n in numbers)
    names = functools.partial(chosen_leaf_names, f, args, numbers)
    values = [
        leaf_value(leaf, transform, f, lambda i=i: names()[i])  # type: ignore[misc]
        for i, leaf in enumerate(_tree.leaves(chosen))
    ]
    return partial, chosen, values, lambda i: f"argument {names()[i]}"


def _basis(avals: Sequence[Aval]) -> list[Any]:
    """The standard basis of all entries of all leaves: one array per leaf, the directions leading."""
    sizes = [aval.size for aval in avals]
    total = sum(sizes)
    basis, start = [], 0
    for aval, size in zip(avals, sizes, strict=True):
        rows = Eye(total, size, -start, aval.dtype)()
        basis.append(reshape(rows, (total, *aval.shape)))
        start += size
    return basis


def _check(
    avals: Sequence[Aval],
    holomorphic: bool,
    where: str,
    name: Callable[[int], str],
    allow_int: bool,
    complex_ok: bool,
) -> None:
    for i, aval in enumerate(avals):
        if not is_inexact(aval.dtype) and not allow_int:
            raise DifferentiationTypeError(
                f"{where}: {name(i)} has dtype {aval.dtype.name}, which has no derivatives; convert it to float"
            )
        if holomorphic and aval.dtype.kind != "c":
            raise DifferentiationTypeError(
                f"{where} with holomorphic=True: {name(i)} has dtype {aval.dtype.name}, expected a complex "
                "one; convert it with .astype(complex)"
            )
        if not holomorphic and not complex_ok and aval.dtype.kind == "c":
            raise DifferentiationTypeError(
                f"{where}: {name(i)} is complex ({aval.dtype.name}); give holomorphic=True, or take real and "
                "imaginary parts"
            )


def _last_axis(x: Any) -> Any:
    inside = value(x)
    return wrap(moveaxis(inside, 0, len(aval_of(inside).shape) - 1))


def _result_name(result: Any) -> Callable[[int], str]:
    return lambda i: _tree.leaf_names(result, "the result")[i]


def _split_leaves(x: Any, avals: Sequence[Aval], axis: int, weak: bool) -> list[Any]:
    """Cut one axis of all directions into the entries of each leaf; 0-d entries may be weak."""
    pieces, start = [], 0
    x = value(x)
    shape = aval_of(x).shape
    for aval in avals:
        index = (slice(None),) * axis + (slice(start, start + aval.size),)
        piece = static_index(x, index)
        piece = reshape(piece, (*shape[:axis], *aval.shape, *shape[axis + 1 :]))
        own = aval_of(piece)
        pieces.append(wrap(match_aval(piece, Aval(own.shape, own.dtype, weak and not own.shape))))
        start += aval.size
    return pieces


@boundary
def jacfwd(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    batch_size: int | None = None,
) -> Callable[..., Any]:
    """The Jacobian of `fun`, column by column in forward mode: for few inputs and many outputs.

    Parameters
    ----------
    fun : callable
        A function of arrays, or of trees of arrays.
    argnums : int or sequence of int
        Which positional arguments to differentiate.
    has_aux : bool
        Whether `fun` returns a pair of a result and auxiliary data.
    holomorphic : bool
        Promise that `fun` is complex-differentiable.
    batch_size : int, optional
        How many columns to compute at once; by default all. Fewer take less memory.

    Returns
    -------
    callable
        It returns, for each leaf of the result, a tree like the arguments of arrays of shape
        ``result.shape + argument.shape``.

    Examples
    --------
    >>> import fgrad, numpy as np
    >>> fgrad.jacfwd(lambda x: x**2)(np.array([1.0, 2.0]))
    Array([[2., 0.],
           [0., 4.]], dtype=float64)
    """
    check_callable(fun, "jacfwd")
    check_argnums(fun, argnums, "jacfwd")

    @transformed(
        fun,
        "jacfwd",
        jacfwd,
        argnums=argnums,
        has_aux=has_aux,
        holomorphic=holomorphic,
        batch_size=batch_size,
    )
    def jacfwd_f(*args: Any, **kwargs: Any) -> Any:
        where = f"jacfwd of {function_text(fun)}"
        f, chosen, values, name = _with_arguments(fun, argnums, "jacfwd", args, kwargs)
        treedef = _tree.structure(chosen)
        avals = [aval_of(v) for v in values]
        _check(avals, holomorphic, where, name, False, holomorphic)
        primals = _tree.unflatten(treedef, [wrap(v) for v in values])
        aux = None
        weak_rows: list[bool] = []

        def look_at(out: Any) -> None:
            nonlocal weak_rows
            out_avals = [aval_of(value(x)) for x in _tree.leaves(out)]
            weak_rows = [aval.weak for aval in out_avals]
            _check(
                out_avals,
                holomorphic,
                where,
                _result_name(out),
                True,
                True,
            )

        def push(*directions: Any) -> Any:
            nonlocal aux
            result = jvp(f, primals, _tree.unflatten(treedef, list(directions)), has_aux=has_aux)
            if has_aux:
                out, tangents, aux = result
            else:
                out, tangents = result
            look_at(out)
            return tangents

        basis = [wrap(b) for b in _basis(avals)]
        if batch_size is None:
            columns = vmap(push, in_axes=0, out_axes=-1)(*basis)
        else:
            out, pushed, *rest = linearize(f, *primals, has_aux=has_aux)
            aux = rest[0] if has_aux else None
            look_at(out)
            columns = _tree.map(
                _last_axis,
                map(lambda ds: pushed(*_tree.unflatten(treedef, ds)), basis, batch_size=batch_size),
            )
        blocks, out_treedef = _tree.flatten(columns)
        rows = []
        for position, block in enumerate(blocks):
            axis = len(aval_of(value(block)).shape) - 1
            row = _tree.unflatten(treedef, _split_leaves(block, avals, axis, weak_rows[position]))
            rows.append(row if isinstance(argnums, (tuple, list)) else row[0])
        jacobian_tree = _tree.unflatten(out_treedef, rows)
        return (jacobian_tree, aux) if has_aux else jacobian_tree

    return jacfwd_f


@boundary
def jacrev(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    batch_size: int | None = None,
) -> Callable[..., Any]:
    """The Jacobian of `fun`, row by row in reverse mode: for many inputs and few outputs.

    Parameters and result are those of `jacfwd`, with `batch_size` rows at once; `allow_int` accepts
    integer arguments, whose derivatives have dtype ``fgrad.dtypes.float0``.

    Examples
    --------
    >>> import fgrad, numpy as np
    >>> fgrad.jacrev(lambda x: x.sum())(np.array([1.0, 2.0]))
    Array([1., 1.], dtype=float64)
    """
    check_callable(fun, "jacrev")
    check_argnums(fun, argnums, "jacrev")

    @transformed(
        fun,
        "jacrev",
        jacrev,
        argnums=argnums,
        has_aux=has_aux,
        holomorphic=holomorphic,
        allow_int=allow_int,
        batch_size=batch_size,
    )
    def jacrev_f(*args: Any, **kwargs: Any) -> Any:
        where = f"jacrev of {function_text(fun)}"
        f, chosen, values, name = _with_arguments(fun, argnums, "jacrev", args, kwargs)
        _check([aval_of(v) for v in values], holomorphic, where, name, allow_int, True)
        if has_aux:
            out, pullback, aux = vjp(f, *chosen, has_aux=True)
        else:
            out, pullback = vjp(f, *chosen)
            aux = None
        out_leaves, out_treedef = _tree.flatten(out)
        out_avals = [aval_of(value(x)) for x in out_leaves]
        _check(out_avals, holomorphic, where, _result_name(out), False, holomorphic)
        basis = _tree.unflatten(out_treedef, [wrap(b) for b in _basis(out_avals)])
        rows = (
            vmap(pullback)(basis)
            if batch_size is None
            else map(pullback, basis, batch_size=batch_size)
        )
        row_leaves, in_treedef = _tree.flatten(rows)
        per_input = [
            _split_leaves(row, out_avals, 0, aval_of(v).weak)
            for row, v in zip(row_leaves, values, strict=True)
        ]
        blocks = []
        for position in range(len(out_avals)):
            block = _tree.unflatten(in_treedef, [pieces[position] for pieces in per_input])
            blocks.append(block if isinstance(argnums, (tuple, list)) else block[0])
        jacobian_tree = _tree.unflatten(out_treedef, blocks)
        return (jacobian_tree, aux) if has_aux else jacobian_tree

    return jacrev_f


jacobian = jacrev


@boundary
def hessian(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    batch_size: int | None = None,
) -> Callable[..., Any]:
    """The Hessian of `fun`: forward mode over reverse mode.

    Parameters are those of `jacfwd`. The result nests the trees twice: for one array argument of shape
    ``s`` and a scalar result it is one array of shape ``s + s``.

    Examples
    --------
    >>> import fgrad, numpy as np
    >>> fgrad.hessian(lambda x: (x**3).sum())(np.array([1.0, 2.0]))
    Array([[ 6.,  0.],
           [ 0., 12.]], dtype=float64)
    """
    check_callable(fun, "hessian")
    check_argnums(fun, argnums, "hessian")
    reverse = jacrev(fun, argnums, has_aux=has_aux, holomorphic=holomorphic)
    forward = jacfwd(reverse, argnums, has_aux, holomorphic, batch_size)

    @transformed(
        fun,
        "hessian",
        hessian,
        argnums=argnums,
        has_aux=has_aux,
        holomorphic=holomorphic,
        batch_size=batch_size,
    )
    def hessian_f(*args: Any, **kwargs: Any) -> Any:
        _, _, values, name = _with_arguments(fun, argnums, "hessian", args, kwargs)
        where = f"hessian of {function_text(fun)}"
        _check([aval_of(v) for v in values], holomorphic, where, name, False, holomorphic)
        return forward(*args, **kwargs)

    return hessian_f
