"""The forward and the backward pass of a function as two functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fgrad import _tree
from fgrad.array import value, wrap
from fgrad.avals import Aval, aval_of
from fgrad.dtypes import is_inexact
from fgrad.errors import ArgumentError
from fgrad.source_info import boundary, function_text
from fgrad.tracing import hoist_constants
from fgrad.transforms._arguments import (
    check_callable,
    direction_values,
    leaf_values,
    normal_argnums,
    split_aux,
    transformed,
)
from fgrad.transforms.call import Call, CallPullback
from fgrad.transforms.jit import jit
from fgrad.transforms.jvp import instantiate
from fgrad.transforms.make_jaxpr import trace_to_jaxpr
from fgrad.transforms.vjp import reverse_jaxpr


class _Form:
    """What forward and backward pass of one signature share; equal only to itself."""

    def __init__(self, reverse: Any, out_treedef: Any, out_avals: Sequence[Aval]) -> None:
        self.reverse = reverse
        self.out_treedef = out_treedef
        self.out_avals = list(out_avals)


class Residuals:
    """What a backward pass needs of its forward pass: a tree of arrays, for the ``bwd`` that it belongs to."""

    def __init__(self, form: _Form, in_treedef: Any, in_avals: Any, arrays: Sequence[Any]) -> None:
        self.form = form
        self.in_treedef = in_treedef
        self.in_avals = in_avals
        self.arrays = tuple(arrays)


_tree.register_node(
    Residuals,
    lambda r: (r.arrays, (r.form, r.in_treedef, r.in_avals)),
    lambda metadata, arrays: Residuals(metadata[0], metadata[1], metadata[2], arrays),
)


@boundary
def fwd_and_bwd(
    fun: Callable[..., Any],
    argnums: int | Sequence[int],
    has_aux: bool = False,
    jitted: bool = True,
) -> tuple[Callable[..., Any], Callable[[Any, Any], Any]]:
    """Make the forward and the backward pass of a function two functions of their own.

    Where one cannot be called directly after the other, as `vjp` does it, the residuals between them are an
    argument, and each is compiled once.

    Parameters
    ----------
    fun : callable
        A function of arrays, or of trees of arrays. It is recorded: its branches cannot depend on values.
    argnums : int or sequence of int
        The positional arguments to differentiate with respect to.
    has_aux : bool
        Whether `fun` returns a pair of a result and auxiliary data, which is not differentiated.
    jitted : bool
        Whether both functions are compiled.

    Returns
    -------
    fwd : callable
        It takes the arguments of `fun`, and returns its result and the residuals, a tree of arrays; with
        `has_aux` the auxiliary data third.
    bwd : callable
        It takes the residuals and cotangents like the result, and returns the cotangents of the chosen
        arguments: a tuple of them, or that of one argument where `argnums` is an integer.

    Raises
    ------
    ArgnumsError
        By `fwd`, if there is no such argument.
    TangentError, ArgumentError
        By `bwd`, if the cotangents do not match the result, or the residuals are something else.

    Examples
    --------
    >>> import fgrad
    >>> fwd, bwd = fgrad.fwd_and_bwd(lambda x, w: x * w, argnums=(0, 1))
    >>> y, residuals = fwd(3.0, 4.0)
    >>> float(y), [float(ct) for ct in bwd(residuals, 1.0)]
    (12.0, [4.0, 3.0])
    """
    check_callable(fun, "fwd_and_bwd")
    name = "fwd_and_bwd"

    @transformed(fun, "fwd", _one_of_both, place=0, argnums=argnums, has_aux=has_aux)
    def fwd(*args: Any, **kwargs: Any) -> Any:
        numbers = normal_argnums(fun, argnums, len(args), name)
        result_treedef = None

        def pair(*xs: Any, **named: Any) -> Any:
            nonlocal result_treedef
            result = fun(*xs, **named)
            main = split_aux(fun, result, name)[0] if has_aux else result
            result_treedef = _tree.structure(main)
            return result

        leaves, _ = _tree.flatten((args, kwargs))
        values = leaf_values(leaves, name, fun, args, kwargs)
        jaxpr, out_treedef = trace_to_jaxpr(pair, args, kwargs, name)
        closed, captured = hoist_constants(jaxpr)
        chosen = [n in numbers for n, arg in enumerate(args) for _ in _tree.leaves(arg)]
        chosen += [False] * (len(values) - len(chosen))
        needs = [c and is_inexact(aval_of(v).dtype) for c, v in zip(chosen, values, strict=True)]
        reverse = reverse_jaxpr(closed, (*(False,) * len(captured), *needs))
        operands = [*captured, *values]
        results = Call(reverse.forward)(*operands)
        count = len(closed.outvars)
        assert result_treedef is not None
        avals = closed.out_avals[: result_treedef.num_leaves]
        form = _Form(reverse, result_treedef, avals)
        selected = [args[n] for n in numbers]
        moved = selected[0] if isinstance(argnums, int) else tuple(selected)
        in_leaves, in_treedef = _tree.flatten(moved)
        residuals = Residuals(
            form,
            in_treedef,
            _places(args, numbers, len(captured), needs, [aval_of(value(x)) for x in in_leaves]),
            [wrap(v) for v in (*(operands[i] for i in reverse.passed), *results[count:])],
        )
        answer = _tree.unflatten(out_treedef, [wrap(v) for v in results[:count]])
        return (answer[0], residuals, answer[1]) if has_aux else (answer, residuals)

    @transformed(fun, "bwd", _one_of_both, place=1, argnums=argnums, has_aux=has_aux)
    def bwd(residuals: Residuals, cotangents: Any) -> Any:
        if not isinstance(residuals, Residuals):
            raise ArgumentError(
                f"bwd of {function_text(fun)}: got {type(residuals).__name__} as residuals; give what fwd "
                "returned as its second result"
            )
        form = residuals.form
        cts = direction_values(
            cotangents,
            form.out_treedef,
            form.out_avals,
            "cotangent",
            "output",
            name,
            fun,
            lambda: _tree.leaf_names(cotangents, "the result"),
        )
        cts += [None] * (len(form.reverse.active) - len(cts))
        cts = [ct if live else None for ct, live in zip(cts, form.reverse.active, strict=True)]
        kept = [value(x) for x in residuals.arrays]
        found = CallPullback(Call(form.reverse.forward), form.reverse, kept)(cts)
        return _tree.unflatten(
            residuals.in_treedef,
            [
                wrap(instantiate(None if place < 0 else found[place], aval))
                for place, aval in residuals.in_avals
            ],
        )

    return (jit(fwd), jit(bwd)) if jitted else (fwd, bwd)


def _one_of_both(fun: Callable[..., Any], place: int, argnums: Any, has_aux: bool) -> Any:
    return fwd_and_bwd(fun, argnums, has_aux, jitted=False)[place]


def _places(
    args: Sequence[Any],
    numbers: Sequence[int],
    captured: int,
    needs: Sequence[bool],
    avals: Sequence[Aval],
) -> tuple[tuple[int, Aval], ...]:
    """For each leaf of the chosen arguments its position among the operands, -1 for integers; and its type."""
    starts, total = [], captured
    for arg in args:
        starts.append(total)
        total += len(_tree.leaves(arg))
    found = [
        place for n in numbers for place in range(starts[n], starts[n] + len(_tree.leaves(args[n])))
    ]
    return tuple(
        (place if needs[place - captured] else -1, aval)
        for place, aval in zip(found, avals, strict=True)
    )
