"""Derivatives of linear algebra, against JAX, differences, and loops over matrices."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.matrices import (
    CASES,
    ROWS,
    Spaces,
    close,
    difference,
    directions,
    ladder,
    leaves,
    leaves_of,
    numbers,
    operands_of,
    ours,
    pairing,
    run,
    seeded,
)
from support.modules import fgrad, fnp, jax, jnp

import fgrad.numpy.linalg as la

cases = pytest.mark.parametrize(("name", "dtype"), CASES)


def loss_of(name: str, space: Any, weights: list[Any]) -> Callable[..., Any]:
    """A real function of all results whose second derivatives are not those of the results alone."""

    def loss(*operands: Any) -> Any:
        results = run(name, space, *operands)
        results = results if isinstance(results, (tuple, list)) else [results]
        total = 0.0
        for x, weight in zip(results, weights, strict=True):
            total = total + space.sum(space.real(weight * x * x))
        return total

    return loss


@pytest.mark.parametrize(("name", "dtype"), [case for case in CASES if ROWS[case[0]].jax])
def test_derivatives_are_those_of_jax(name: str, dtype: str) -> None:
    operands = operands_of(name, dtype)
    tangents = directions(name, operands)
    results = leaves(run(name, Spaces.fgrad, *operands))
    cts = directions(name + "ct", results)
    argnums = tuple(range(len(operands)))

    def derivatives(module: Any, space: Any) -> Callable[..., Any]:
        def f(*xs: Any) -> Any:
            return tuple(leaves_of(run(name, space, *xs)))

        def all_of_them(xs: Any, ts: Any, cs: Any) -> Any:
            value, tangent = module.jvp(f, tuple(xs), tuple(ts))
            pulled = module.vjp(f, *xs)[1](tuple(cs))
            if ROWS[name].jax == 1:
                return value, tangent, pulled
            gradient = module.grad(loss_of(name, space, list(cs)), argnums)
            return value, tangent, pulled, *module.jvp(gradient, tuple(xs), tuple(ts))

        return all_of_them

    want = jax.jit(derivatives(jax, jnp))(operands, tangents, cts)
    assert len(want) == (5 if ROWS[name].jax == 2 else 3)
    got = derivatives(fgrad, Spaces.fgrad)(operands, tangents, cts)
    for a, b, what in zip(got, want, ("value", "jvp", "vjp", "gradient", "second"), strict=False):
        close(a, b, 2e-8, what)
    compiled = fgrad.jit(derivatives(fgrad, Spaces.fgrad))(operands, tangents, cts)
    close(compiled, got, 1e-10, "jit")


#: Rows whose complex vectors have phases that LAPACK chooses.
PHASES = {"svd tall", "svd wide", "svd square", "eigh"}


SMOOTH = [(name, dtype) for name, dtype in CASES if name not in PHASES or dtype == "float64"]


@pytest.mark.parametrize(("name", "dtype"), SMOOTH)
def test_derivatives_are_limits_of_differences(name: str, dtype: str) -> None:
    f = ours(name)
    operands = operands_of(name, dtype)
    tangents = directions(name, operands)
    value, tangent = fgrad.jvp(f, tuple(operands), tuple(tangents))
    close(
        tangent,
        [
            x.astype(np.asarray(v).dtype)
            for x, v in zip(difference(f, operands, tangents), leaves(value), strict=True)
        ],
        1e-8,
    )
    answer, pullback = fgrad.vjp(f, *operands)
    cts = directions(name + "ct", leaves(answer))
    structured = (
        cts if isinstance(answer, list) else tuple(cts) if isinstance(answer, tuple) else cts[0]
    )
    pulled = pullback(structured)
    assert pairing(cts, tangent) == pytest.approx(
        pairing(list(pulled), tangents), rel=1e-9, abs=1e-9
    )
    loss = loss_of(name, Spaces.fgrad, cts)
    gradient = fgrad.grad(loss, tuple(range(len(operands))))
    _, second = fgrad.jvp(gradient, tuple(operands), tuple(tangents))
    close(list(second), difference(gradient, operands, tangents), 1e-7, "second")


def projector(x: Any) -> Any:
    return x @ fnp.conj(fnp.swapaxes(x, -1, -2))


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("shape", [(4, 2), (2, 4)])
def test_full_singular_vectors_turn_as_the_spaces_that_they_span(shape: Any, dtype: str) -> None:
    a = ladder(seeded("full"), (), *shape, dtype)
    t = directions("full", [a])

    def spaces(x: Any) -> Any:
        u, s, vh = la.svd(x)
        v = fnp.conj(vh.T)
        rest = [projector(u[:, 2:]), projector(v[:, 2:])]
        return (*rest, projector(u[:, :1]), projector(v[:, 1:2]), s, u[:, :1] @ vh[:1])

    _, tangent = fgrad.jvp(spaces, (a,), tuple(t))
    close(tangent, difference(spaces, [a], t), 1e-8)
    out, pullback = fgrad.vjp(spaces, a)
    cts = directions("full ct", leaves(out))
    assert pairing(cts, tangent) == pytest.approx(pairing(list(pullback(tuple(cts))), t), rel=1e-9)


@pytest.mark.parametrize("name", ["eigh", "svd tall", "svd wide"])
def test_complex_vectors_by_what_does_not_depend_on_phases(name: str) -> None:
    operands = operands_of(name, "complex128")
    t = directions(name, operands)

    def spaces(x: Any) -> Any:
        found = ours(name)(x)
        vectors = found[1 if name == "eigh" else 0]
        return (*[projector(vectors[:, i : i + 1]) for i in range(2)], *map(fnp.abs, found))

    _, tangent = fgrad.jvp(spaces, tuple(operands), tuple(t))
    close(tangent, difference(spaces, operands, t), 1e-8)


# ---- mapping --------------------------------------------------------------------------------


@cases
def test_vmap_is_a_loop(name: str, dtype: str) -> None:
    f = ours(name)
    single = operands_of(name, dtype)
    stacked = operands_of(name, dtype, (3,))
    for mapped in itertools.product((False, True), repeat=len(single)):
        if not any(mapped):
            continue
        args = [b if m else a for a, b, m in zip(single, stacked, mapped, strict=True)]
        in_axes = tuple(0 if m else None for m in mapped)
        got = fgrad.vmap(f, in_axes)(*args)
        rows = [f(*[x[i] if m else x for x, m in zip(args, mapped, strict=True)]) for i in range(3)]
        want = [np.stack(parts) for parts in zip(*map(leaves, rows), strict=True)]
        close(got, want, 1e-11, str(mapped))

        def gradient(*xs: Any) -> Any:
            results = leaves_of(f(*xs))
            total = sum(fnp.sum(fnp.abs(x) ** 2 * (1 + n)) for n, x in enumerate(results))
            return total * 1.0

        pulled = fgrad.vmap(fgrad.grad(gradient, tuple(range(len(args)))), in_axes)(*args)
        rows = [
            fgrad.grad(gradient, tuple(range(len(args))))(
                *[x[i] if m else x for x, m in zip(args, mapped, strict=True)]
            )
            for i in range(3)
        ]
        want = [np.stack(parts) for parts in zip(*map(leaves, rows), strict=True)]
        close(list(pulled), want, 1e-9, f"gradient {mapped}")


def test_one_matrix_is_factored_once_for_many_right_hand_sides() -> None:
    a, b = ladder(seeded("a"), (), 40, 40, "float64"), numbers(seeded("b"), (5, 40), "float64")
    program = str(fgrad.make_jaxpr(fgrad.vmap(la.solve, (None, 0)))(a, b))
    assert "f64[40,5] = solve" in program
    close(fgrad.vmap(la.solve, (None, 0))(a, b), np.linalg.solve(a, b.T).T)


def test_batches_broadcast() -> None:
    rng = seeded("broadcast")
    a, b = ladder(rng, (2, 1), 3, 3, "float64"), numbers(rng, (4, 3, 2), "float64")
    close(la.solve(a, b), np.linalg.solve(a, b))
    for argument in (0, 1):
        gradient = fgrad.grad(lambda *xs: fnp.sum(la.solve(*xs) ** 2), argument)(a, b)
        want = jax.grad(
            lambda *xs: jnp.sum(jnp.linalg.solve(*map(jnp.asarray, wide(*xs))) ** 2), argument
        )(a, b)
        close(gradient, want)


def wide(a: Any, b: Any) -> Any:
    return jnp.broadcast_to(a, (2, 4, 3, 3)), jnp.broadcast_to(b, (2, 4, 3, 2))


# ---- large systems ---------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "complex128", "float32"])
@pytest.mark.parametrize("lead", [(), (2,)])
def test_large_systems(dtype: str, lead: tuple[int, ...]) -> None:
    rng = seeded(f"large {dtype} {lead}")
    n = 36
    a = (numbers(rng, (*lead, n, n), dtype) + 8 * np.eye(n)).astype(dtype)
    b = numbers(rng, (*lead, n, 2), dtype)
    tangents = directions("large", [a, b])
    wide = np.result_type(dtype, np.float64)
    a64, ta, tb = a.astype(wide), tangents[0].astype(wide), tangents[1].astype(wide)
    x = np.linalg.solve(a64, b.astype(wide))
    want = np.linalg.solve(a64, tb - ta @ x)
    got = fgrad.jvp(la.solve, (a, b), tuple(tangents))
    rtol = 1e-4 if dtype == "float32" else 1e-11
    close(got, (x.astype(dtype), want.astype(dtype)), rtol)
    _, pullback = fgrad.vjp(la.solve, a, b)
    (ct,) = directions("large ct", [x.astype(dtype)])
    side = np.linalg.solve(np.swapaxes(a64, -1, -2), ct.astype(wide))
    close(
        list(pullback(ct)),
        [(-side @ np.swapaxes(x, -1, -2)).astype(dtype), side.astype(dtype)],
        rtol,
    )
    close(fgrad.jit(lambda *xs: fgrad.vjp(la.solve, *xs)[1](ct))(a, b), pullback(ct), rtol)
    second = fgrad.jvp(
        fgrad.grad(lambda y: fnp.sum(fnp.abs(la.solve(y, b)) ** 2)), (a,), (tangents[0],)
    )
    gradient = fgrad.grad(lambda y: fnp.sum(fnp.abs(la.inv(y) @ b) ** 2))
    other = fgrad.jvp(gradient, (a,), (tangents[0],))
    close(second, other, 30 * rtol)


def equations(program: Any) -> list[str]:
    """The names of all applications, in bodies too."""
    found = []
    pending = [program.jaxpr if hasattr(program, "jaxpr") else program]
    while pending:
        jaxpr = pending.pop()
        for eqn in jaxpr.eqns:
            found.append(eqn.primitive.name)
            pending.extend(getattr(eqn.primitive, "jaxprs", ()))
    return found


def test_a_large_matrix_is_factored_once() -> None:
    a, b = 8 * np.eye(40), np.ones(40)

    def loss(x: Any) -> Any:
        return fnp.sum(la.solve(x, b) ** 2)

    first = equations(fgrad.make_jaxpr(fgrad.grad(loss))(a))
    assert first.count("lu") == 1
    assert "solve" not in first
    second = equations(fgrad.make_jaxpr(lambda x, t: fgrad.jvp(fgrad.grad(loss), (x,), (t,)))(a, a))
    assert second.count("lu") == 1
    assert "solve" not in second
    tangent = equations(fgrad.make_jaxpr(lambda x, t: fgrad.jvp(loss, (x,), (t,)))(a, a))
    assert tangent.count("lu") == 1


@pytest.mark.parametrize(
    ("name", "primitive", "vectors"),
    [
        ("eigvalsh", "eigh", "eigvalsh"),
        ("svdvals", "svd", "singular_values"),
        ("eigvals", "eig", "eigvals"),
    ],
)
def test_values_are_not_computed_twice(name: str, primitive: str, vectors: str) -> None:
    f = getattr(la, name)
    plain = equations(fgrad.make_jaxpr(f)(np.eye(3)))
    assert vectors in plain
    assert primitive not in plain
    taken = equations(
        fgrad.make_jaxpr(fgrad.value_and_grad(lambda a: fnp.sum(fnp.real(f(a)))))(np.eye(3))
    )
    assert taken.count(primitive) == 1
    assert vectors not in taken


@pytest.mark.parametrize("name", ["inv", "cholesky", "qr", "svd", "eigh", "pinv"])
def test_derivatives_read_the_answer(name: str) -> None:
    f = getattr(la, name)

    def loss(a: Any) -> Any:
        return sum(fnp.sum(fnp.real(x)) for x in leaves_of(f(a)))

    names = equations(fgrad.make_jaxpr(fgrad.value_and_grad(loss))(np.diag([1.0, 2.0, 3.0])))
    assert names.count(name) == 1


def test_solve_is_linear_in_the_right_hand_side() -> None:
    for n in (3, 40):
        a = ladder(seeded("linear"), (), n, n, "float64") + n * np.eye(n)
        (found,) = fgrad.linear_transpose(lambda b, a=a: la.solve(a, b), np.ones(n))(
            np.arange(n, dtype=float)
        )
        close(found, np.linalg.solve(a.T, np.arange(n, dtype=float)))
        _, f_jvp = fgrad.linearize(lambda b, a=a: la.solve(a, b), np.ones(n))
        close(f_jvp(np.arange(n, dtype=float)), np.linalg.solve(a, np.arange(n, dtype=float)))


# ---- triangular systems -----------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "complex128", "float32"])
@pytest.mark.parametrize("lead", [(), (2,), (40,)])
def test_triangular_solve(dtype: str, lead: tuple[int, ...]) -> None:
    from scipy.linalg import solve_triangular

    from fgrad.array import value, wrap
    from fgrad.primitives.solve import triangular_solve

    rng = seeded(f"triangular {dtype}")
    a = (numbers(rng, (*lead, 4, 4), dtype) + 3 * np.eye(4)).astype(dtype)
    b = numbers(rng, (*lead, 4, 2), dtype)
    rtol = 1e-4 if dtype == "float32" else 1e-11
    for lower, trans, unit in itertools.product((False, True), (0, 1, 2), (False, True)):

        def f(x: Any, y: Any, lower: bool = lower, trans: int = trans, unit: bool = unit) -> Any:
            return wrap(triangular_solve(value(x), value(y), lower, trans, unit))

        want = np.empty_like(b)
        for i in np.ndindex(*lead):
            want[i] = solve_triangular(a[i], b[i], trans=trans, lower=lower, unit_diagonal=unit)
        close(f(a, b), want, rtol)
        if lead == () and dtype != "float32":
            t = directions("triangular", [a, b])
            _, tangent = fgrad.jvp(f, (a, b), tuple(t))
            close(tangent, difference(f, [a, b], t), 1e-8)
            _, pullback = fgrad.vjp(f, a, b)
            (ct,) = directions("triangular ct", [want])
            assert pairing(ct, tangent) == pytest.approx(pairing(list(pullback(ct)), t), rel=1e-9)


def test_a_singular_triangle_gives_no_error() -> None:
    from fgrad.primitives.solve import triangular_solve

    assert not np.isfinite(triangular_solve(np.zeros((2, 2)), np.ones((2, 1)), True)).any()
    many = triangular_solve(np.zeros((9, 2, 2)), np.ones((9, 2, 1)), True)
    assert not np.isfinite(many).any()
