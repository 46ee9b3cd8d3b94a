"""Each construct inside each other one, under each transform, against plain functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.gradients import close
from support.modules import IS_JAX, fgrad, fnp

from fgrad.ir.jaxpr import sub_jaxprs

lax = fgrad.lax
Function = Callable[[Any], Any]
X = np.array([0.3, -0.8, 1.2])
SCALE = np.array([1.5, 0.5, -0.7])


def inner(x: Any) -> Any:
    return fnp.sin(x * SCALE) + 0.25 * fnp.flip(x)


# Each takes a function, and makes one of a construct that calls it; beside it what that computes.


def in_cond(f: Function) -> Function:
    return lambda x: lax.cond(x[0] > 0.0, f, lambda x: 2.0 * f(x), x)


def as_cond(f: Function) -> Function:
    return lambda x: fnp.where(x[0] > 0.0, 1.0, 2.0) * f(x)


def in_switch(f: Function) -> Function:
    def switched(x: Any) -> Any:
        index = (x[0] > 0.0) * 1 + (x[1] > 0.0) * 1
        return lax.switch(index, [lambda x: x, f, lambda x: f(f(x))], x)

    return switched


def as_switch(f: Function) -> Function:
    def chosen(x: Any) -> Any:
        index = (x[0] > 0.0) * 1 + (x[1] > 0.0) * 1
        return fnp.where(index == 0, x, fnp.where(index == 1, f(x), f(f(x))))

    return chosen


def in_scan(f: Function) -> Function:
    def scanned(x: Any) -> Any:
        c, ys = lax.scan(lambda c, s: (f(c) * s, c), x, np.array([1.0, 0.5]))
        return c + ys[1]

    return scanned


def as_scan(f: Function) -> Function:
    def unrolled(x: Any) -> Any:
        once = f(x)
        return f(once) * 0.5 + once

    return unrolled


def in_fori(f: Function) -> Function:
    return lambda x: lax.fori_loop(0, 2, lambda i, c: f(c) + i, x)


def as_fori(f: Function) -> Function:
    return lambda x: f(f(x)) + 1.0


def in_while(f: Function) -> Function:
    return lambda x: lax.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, f(c[1])), (0, x))[1]


def in_while_of_values(f: Function) -> Function:
    """The number of steps depends on the values."""

    def looped(x: Any) -> Any:
        limit = fnp.where(x[0] > 0.0, 2, 1)
        return lax.while_loop(lambda c: c[0] < limit, lambda c: (c[0] + 1, f(c[1])), (0, x))[1]

    return looped


def twice(f: Function) -> Function:
    return lambda x: f(f(x))


def once_or_twice(f: Function) -> Function:
    return lambda x: fnp.where(x[0] > 0.0, f(f(x)), f(x))


def in_custom_jvp(f: Function) -> Function:
    wrapped = fgrad.custom_jvp(f)

    @wrapped.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        return fgrad.jvp(f, primals, tangents)

    return wrapped


def in_custom_vjp(f: Function) -> Function:
    wrapped = fgrad.custom_vjp(f)
    wrapped.defvjp(lambda x: (f(x), x), lambda x, ct: fgrad.vjp(f, x)[1](ct))
    return wrapped


CONSTRUCTS: dict[str, tuple[Callable[[Function], Function], Callable[[Function], Function]]] = {
    "cond": (in_cond, as_cond),
    "switch": (in_switch, as_switch),
    "scan": (in_scan, as_scan),
    "fori_loop": (in_fori, as_fori),
    "while_loop": (in_while, twice),
    "while_loop of values": (in_while_of_values, once_or_twice),
    "custom_jvp": (in_custom_jvp, lambda f: f),
    "custom_vjp": (in_custom_vjp, lambda f: f),
    "checkpoint": (fgrad.checkpoint, lambda f: f),
    "jit": (fgrad.jit, lambda f: f),
}


def rows(f: Function) -> Function:
    return lambda x: fgrad.vmap(f)(fnp.stack([x, -x, x[::-1]]))


TRANSFORMS: dict[str, Callable[[Function], Function]] = {
    "jvp": lambda f: lambda x: fgrad.jvp(f, (x,), (x[::-1],)),
    "jacfwd": fgrad.jacfwd,
    "vmap": rows,
    "jit": fgrad.jit,
    "vmap of jvp": lambda f: rows(lambda x: fgrad.jvp(f, (x,), (x[::-1],))[1]),
    "grad": lambda f: fgrad.grad(lambda x: fnp.sum(fnp.sin(f(x)))),
    "jit of grad": lambda f: fgrad.jit(fgrad.grad(lambda x: fnp.sum(fnp.sin(f(x))))),
    "vmap of grad": lambda f: rows(fgrad.grad(lambda x: fnp.sum(fnp.sin(f(x))))),
    "grad of vmap": lambda f: fgrad.grad(lambda x: fnp.sum(fnp.sin(rows(f)(x)))),
    "hessian": lambda f: fgrad.jacfwd(fgrad.jacrev(lambda x: fnp.sum(fnp.sin(f(x))))),
    "reverse over reverse": lambda f: fgrad.jacrev(fgrad.jacrev(lambda x: fnp.sum(fnp.sin(f(x))))),
    "linearize": lambda f: lambda x: fgrad.linearize(f, x)[1](x[::-1]),
}
#: Derivatives of custom_vjp are asked for once, in reverse mode.
REVERSE = ("vmap", "jit", "grad", "jit of grad", "vmap of grad", "grad of vmap")
FORWARD = ("jvp", "jacfwd", "vmap", "jit", "vmap of jvp", "linearize")


@pytest.fixture(autouse=True)
def checked_programs() -> Any:
    before = fgrad.config.check_jaxprs
    fgrad.config.update("check_jaxprs", True)
    yield
    fgrad.config.update("check_jaxprs", before)


@pytest.mark.parametrize("outer", CONSTRUCTS)
@pytest.mark.parametrize("within", CONSTRUCTS)
def test_a_construct_in_another(outer: str, within: str) -> None:
    program = CONSTRUCTS[outer][0](CONSTRUCTS[within][0](inner))
    plain = CONSTRUCTS[outer][1](CONSTRUCTS[within][1](inner))
    loops = [name for name in (outer, within) if name.startswith("while")]
    done = 0
    for name, transform in TRANSFORMS.items():
        if "custom_vjp" in (outer, within) and name not in REVERSE:
            continue
        if loops and name not in FORWARD:
            with pytest.raises(fgrad.errors.UnboundedLoopError, match="reverse mode of while_loop"):
                transform(program)(X)
            continue
        got, want = transform(program)(X), transform(plain)(X)
        for one, other in zip(
            fgrad.tree_util.tree_leaves(got), fgrad.tree_util.tree_leaves(want), strict=True
        ):
            close(one, other)
        done += 1
    assert done >= (2 if "custom_vjp" in (outer, within) else 6)


def sines(f: Function) -> int:
    """How often a recorded function computes the sine of the innermost one, all branches and steps counted."""

    def count(jaxpr: Any) -> int:
        total = 0
        for eqn in jaxpr.eqns:
            total += eqn.primitive.name == "sin"
            times = getattr(eqn.primitive, "length", 1)
            total += times * sum(count(body) for body in sub_jaxprs(eqn.primitive))
        return total

    return count(fgrad.make_jaxpr(f)(X))


@pytest.mark.skipif(IS_JAX, reason="it looks into programs of fgrad")
@pytest.mark.parametrize("outer", CONSTRUCTS)
@pytest.mark.parametrize("within", CONSTRUCTS)
def test_derivatives_of_pairs_compute_nothing_again(outer: str, within: str) -> None:
    program = CONSTRUCTS[outer][0](CONSTRUCTS[within][0](inner))
    once = sines(program)
    assert once > 0
    names = (outer, within)
    if "custom_vjp" not in names:
        assert sines(lambda x: fgrad.jvp(program, (x,), (x[::-1],))) == once
    if any(name.startswith("while") for name in names):
        return
    # The slope of the sine is a cosine, so that each further sine is one computed again: by a checkpoint, or by
    # the rule of `in_custom_vjp`, which calls `vjp`.
    again = sum(name in ("checkpoint", "custom_vjp") for name in names)
    found = sines(fgrad.value_and_grad(lambda x: fnp.sum(program(x))))
    assert found == once if not again else once <= found <= (1 + again) * once
