"""Caches, aliasing, indexing, batching and nesting where transforms are known to go wrong."""

from __future__ import annotations

import collections
import copy
import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.gradients import close, gradient, near
from support.matrices import seeded
from support.modules import IS_JAX, beyond_jax, error_class, fgrad, fnp

# ---- caches, aliasing, life time -------------------------------------------------------------


def test_static_values_that_compare_equal_are_told_apart() -> None:
    def f(kind: Any, x: Any) -> Any:
        if kind is True:
            return x
        return x * 10.0 if isinstance(kind, float) else x * 100.0

    compiled = fgrad.jit(f, static_argnums=0)
    assert [float(compiled(kind, 1.0)) for kind in (1, True, 1.0)] == [100.0, 1.0, 10.0]


def test_a_function_is_traced_once_for_each_signature() -> None:
    traces: list[Any] = []

    @fgrad.jit
    def f(x: Any, y: Any) -> Any:
        traces.append(x.shape)
        return x * y

    for k in range(5):
        close(f(np.arange(3.0) + k, 2.0 + k), (np.arange(3.0) + k) * (2.0 + k))
    assert traces == [(3,)]
    f(np.arange(4.0), 2.0)
    assert traces == [(3,), (4,)]


def test_equal_static_values_share_a_trace() -> None:
    traces: list[Any] = []

    def f(x: Any, options: tuple[int, ...]) -> Any:
        traces.append(options)
        return x + len(options)

    compiled = fgrad.jit(f, static_argnums=1)
    for _ in range(3):
        close(compiled(1.0, tuple([1, 2])), 3.0)  # equal, and another object each time
    assert traces == [(1, 2)]


VIEWS: dict[str, Callable[[Any], Any]] = {
    "identity": lambda a: a,
    "reshape": lambda a: fnp.reshape(a, (40, 50)),
    "transpose": lambda a: fnp.reshape(a, (40, 50)).T,
    "slice": lambda a: a[10:],
    "reverse": lambda a: a[::-1],
    "broadcast": lambda a: fnp.broadcast_to(a, (2, 2000)),
    "real": lambda a: fnp.real(a),
    "ravel": lambda a: fnp.ravel(a),
    "where": lambda a: fnp.where(True, a, 0.0),
    "astype": lambda a: a.astype(a.dtype),
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_result_does_not_follow_what_the_caller_writes_to_the_input(name: str) -> None:
    f = fgrad.jit(VIEWS[name])
    x = np.arange(2000.0)
    f(x.copy())
    result = f(x)
    want = np.array(result)
    x[:] = -1.0
    np.testing.assert_array_equal(np.asarray(result), want)


def test_a_result_may_be_written_to_without_spoiling_later_calls() -> None:
    constant = np.ones(3)
    f = fgrad.jit(lambda x: (fnp.zeros(3), fnp.asarray(constant), x + constant))
    for _ in range(3):
        for result, want in zip(f(np.zeros(3)), (0.0, 1.0, 1.0), strict=True):
            found = np.asarray(result)
            close(found, np.full(3, want))
            if found.flags.writeable:
                found += 7.0
        close(constant, np.ones(3))


def test_a_dropped_function_takes_its_constants_with_it() -> None:
    references: list[weakref.ref[Any]] = []
    for _ in range(3):
        constant, token = np.ones(1000), collections.UserList([1])
        references += [weakref.ref(constant), weakref.ref(token)]
        f = fgrad.jit(lambda x, c=constant, t=token: fnp.sum(x * c) * len(t))
        close(f(2.0), 2000.0)
        close(fgrad.grad(lambda x, f=f, c=constant: f(x) * c[0])(2.0), 1000.0)
        del f, constant, token
    gc.collect()
    assert [reference() for reference in references] == [None] * 6


def test_long_chains_of_operations_do_not_exhaust_the_stack() -> None:
    steps = 5000

    def f(x: Any) -> Any:
        for _ in range(steps):
            x = x * 1.0001 + 0.0
        return x

    close(fgrad.grad(f)(1.0), 1.0001**steps)
    close(fgrad.jvp(f, (1.0,), (1.0,))[1], 1.0001**steps)


@pytest.mark.parametrize("transform", ["grad", "jacfwd", "hessian"])
def test_shared_values_are_walked_once(transform: str) -> None:
    doublings = 16  # a walk along each path would take 2**16 steps

    def f(x: Any) -> Any:
        for _ in range(doublings):
            x = x + x
        return x

    derivative = getattr(fgrad, transform)(f)
    close(derivative(1.0), 0.0 if transform == "hessian" else 2.0**doublings)
    assert len(fgrad.make_jaxpr(derivative)(1.0).jaxpr.eqns) <= 8 * doublings


def test_threads_may_trace_at_once() -> None:
    errors: list[BaseException] = []
    threads = 4
    start = threading.Barrier(threads)

    def work(number: int) -> None:
        try:
            start.wait()
            for k in range(15):
                c = float(number + k)
                slopes = fgrad.grad(lambda x, c=c: fnp.sum(fnp.sin(x) * c))(np.full(3, 0.3))
                close(slopes, np.full(3, np.cos(0.3) * c))
                rows = fgrad.jit(fgrad.vmap(fgrad.grad(lambda x, c=c: c * x**2)))(np.arange(3.0))
                close(rows, 2 * c * np.arange(3.0))
        except BaseException as error:
            errors.append(error)

    running = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert not errors, errors[0]


# ---- traced values in Python and NumPy code --------------------------------------------------


def test_copies_of_traced_values_are_the_same_values() -> None:
    def f(x: Any) -> Any:
        return copy.deepcopy({"a": copy.copy(x)})["a"] * x

    close(fgrad.grad(f)(3.0), 6.0)
    close(fgrad.jit(f)(3.0), 9.0)
    close(fgrad.vmap(f)(np.arange(3.0)), np.arange(3.0) ** 2)


BESIDE_NUMPY: dict[str, Callable[[Any], Any]] = {
    "scalar on the left": lambda x: np.float64(3.0) * x,
    "scalar on the right": lambda x: x * np.float64(3.0),
    "array on the left": lambda x: np.array([3.0]) * x,
    "0-D array on the left": lambda x: np.array(3.0) * x,
    "matrix on the left": lambda x: np.array([[3.0]]) @ x,
    "comparison": lambda x: (np.float64(0.0) < x) * x * 3.0,
    "power": lambda x: np.float64(np.exp(3.0)) ** x / np.exp(3.0 * 0.8),
}


@pytest.mark.parametrize("name", BESIDE_NUMPY)
def test_numpy_operands_keep_the_gradient(name: str) -> None:
    x = np.array([0.8])
    close(fgrad.grad(lambda a: fnp.sum(BESIDE_NUMPY[name](a)))(x), np.array([3.0]))


@beyond_jax("refuses ufuncs of NumPy")
def test_ufuncs_of_numpy_keep_the_gradient() -> None:
    slopes = fgrad.grad(lambda x: fnp.sum(np.multiply(3.0, x)))(np.array([0.8]))
    close(slopes, np.array([3.0]))


def test_methods_of_numpy_arrays_never_cut_the_gradient_silently() -> None:
    # ndarray.dot converts its argument itself, before anything else is asked.
    with pytest.raises(Exception, match=r"traced|Tracer") as caught:
        fgrad.grad(lambda x: fnp.sum(np.array([3.0]).dot(x)))(np.array([0.8]))
    assert isinstance(caught.value, error_class("DerivativeCutError", TypeError))


def test_augmented_assignment_leaves_the_callers_array_alone() -> None:
    x = np.ones((2, 3))

    def f(a: Any) -> Any:
        a += np.ones((4, 2, 3))
        mask = a < 1  # another use between the assignment and the result
        del mask
        return fnp.sum(a**2)

    close(fgrad.grad(f)(x), np.full((2, 3), 16.0))
    close(x, np.ones((2, 3)))


# ---- indexing --------------------------------------------------------------------------------


def test_take_along_axis_gathers_from_a_stretched_axis() -> None:
    positions = np.array([[0], [2], [1], [2]])

    def f(s: Any) -> Any:
        rows = fnp.broadcast_to(s * np.arange(3.0), (4, 3))
        return fnp.sum(fnp.take_along_axis(rows, positions, 1))

    close(fgrad.grad(f)(2.0), 5.0)
    close(fgrad.jacfwd(f)(2.0), 5.0)


def test_entries_gathered_twice_count_twice() -> None:
    positions = np.array([[1, 1], [0, 1]])
    slopes = fgrad.grad(lambda v: fnp.sum(fnp.take_along_axis(v, positions, 1)))
    close(slopes(np.arange(4.0).reshape(2, 2)), np.array([[0.0, 2.0], [1.0, 1.0]]))


POSITIONS = np.array([1, 1, 3, -1])  # two pairs that name one entry
ENTRIES, UPDATES = np.arange(4.0), np.array([10.0, 20.0, 30.0, 40.0])


def test_additions_at_one_position_all_count() -> None:
    weights = np.array([1.0, 2.0, 3.0, 4.0])

    def add(a: Any, b: Any) -> Any:
        return fnp.asarray(a).at[POSITIONS].add(b)

    want = ENTRIES.copy()
    np.add.at(want, POSITIONS, UPDATES)
    close(add(ENTRIES, UPDATES), want)
    slopes = fgrad.grad(lambda a, b: fnp.sum(weights * add(a, b)), (0, 1))
    by_entries, by_updates = slopes(ENTRIES, UPDATES)
    close(by_entries, weights)
    close(by_updates, weights[POSITIONS])


def test_of_assignments_to_one_position_only_the_kept_one_has_a_slope() -> None:
    def put(a: Any, b: Any) -> Any:
        return fnp.asarray(a).at[POSITIONS].set(b)

    result = np.asarray(put(ENTRIES, UPDATES))
    targets = POSITIONS % 4
    kept = (result[:, None] == UPDATES) & (np.arange(4)[:, None] == targets)
    assert kept.any(axis=1).tolist() == [False, True, False, True]
    by_entries, by_updates = fgrad.jacrev(put, (0, 1))(ENTRIES, UPDATES)
    close(by_updates, kept.astype(float))
    close(by_entries, np.diag([1.0, 0.0, 1.0, 0.0]))
    close(fgrad.jacfwd(put, 1)(ENTRIES, UPDATES), kept.astype(float))


def test_boolean_masks_have_gradients() -> None:
    x, mask = np.array([1.0, 2.0, 3.0, 4.0]), np.array([True, False, True, False])
    close(fgrad.grad(lambda a: fnp.sum(a[mask] ** 2))(x), np.array([2.0, 0.0, 6.0, 0.0]))
    cleared = fgrad.grad(lambda a: fnp.sum(a.at[mask].set(0.0) ** 2))
    close(cleared(x), np.array([0.0, 4.0, 0.0, 8.0]))


def test_selections_by_masks_of_unknown_value_are_refused() -> None:
    x = np.array([1.0, 2.0, 3.0, 4.0])
    kind = error_class("NonConcreteBooleanIndexError", IndexError)
    with pytest.raises(kind, match="bool"):
        fgrad.jit(lambda a: a[a > 2.5])(x)
    close(fgrad.jit(lambda a: fnp.where(a > 2.5, 0.0, a))(x), np.array([1.0, 2.0, 0.0, 0.0]))


@beyond_jax("refuses masks of unknown value in updates too, whose shape is known")
def test_updates_by_masks_of_unknown_value_are_compiled() -> None:
    x = np.array([1.0, 2.0, 3.0, 4.0])
    cleared = fgrad.jit(lambda a: a.at[a > 2.5].set(0.0))
    close(cleared(x), np.array([1.0, 2.0, 0.0, 0.0]))


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("mapped", [True, False], ids=["own updates", "shared updates"])
def test_mapped_scatters_are_scatters_of_each_row(axis: int, mapped: bool) -> None:
    rng = seeded(f"scatter {axis} {mapped}")
    x = rng.normal(size=(2, 3, 4))
    size = x.shape[axis]
    updates = rng.normal(size=(size, 3) if mapped else 3)
    positions = np.array([1, 0, 1])

    def f(a: Any, u: Any) -> Any:
        return a.at[positions].add(u[:, None])

    want = []
    for row, update in zip(
        np.moveaxis(x, axis, 0), updates if mapped else [updates] * size, strict=True
    ):
        moved = row.copy()
        np.add.at(moved, positions, np.broadcast_to(update[:, None], (3, row.shape[1])))
        want.append(moved)
    batched = fgrad.vmap(f, in_axes=(axis, 0 if mapped else None))
    close(batched(x, updates), np.stack(want))
    close(fgrad.jit(batched)(x, updates), np.stack(want))


def test_sorting_equal_entries_moves_each_gradient_to_one_of_them() -> None:
    x, weights = np.array([2.0, 1.0, 2.0, 0.0]), np.array([1.0, 10.0, 100.0, 1000.0])
    slopes = np.asarray(fgrad.grad(lambda a: fnp.sum(weights * fnp.sort(a)))(x))
    assert slopes[[3, 1]].tolist() == [1.0, 10.0]
    assert sorted(slopes[[0, 2]]) == [100.0, 1000.0]


def test_sorting_rows_keeps_tangents_with_their_entries() -> None:
    x = np.array([[2.0, 1.0, 2.0, 0.0], [0.0, 2.0, 1.0, 2.0], [1.0, 1.0, 1.0, 1.0]])
    value, tangent = fgrad.jvp(lambda a: fnp.sort(a, axis=0), (x,), (x * 3.0,))
    close(value, np.sort(x, axis=0))
    close(tangent, 3.0 * np.sort(x, axis=0))
    close(fgrad.vmap(fnp.sort)(x), np.sort(x, axis=1))


def test_a_value_that_feeds_an_update_twice_collects_both_slopes() -> None:
    x = np.array([1.0, 2.0, 3.0])
    product = fgrad.grad(lambda v: fnp.sum(v.at[0].set(v[1] * v[2]) ** 2))
    near(product(x), gradient(lambda v: (v[1] * v[2]) ** 2 + v[1] ** 2 + v[2] ** 2, x))
    chained = fgrad.grad(lambda v: fnp.sum(v.at[1:].add(v[:-1]).at[0].multiply(v[2])))
    near(chained(x), gradient(lambda v: v[0] * v[2] + (v[1] + v[0]) + (v[2] + v[1]), x))
    close(fgrad.grad(lambda v: v @ v)(x), 2 * x)
    close(fgrad.grad(lambda v: fnp.sum(fnp.outer(v, v)))(x), np.full(3, 2 * x.sum()))


# ---- batching --------------------------------------------------------------------------------


def test_rows_of_unlike_rank_are_broadcast_row_by_row() -> None:
    a, b = np.arange(4.0).reshape(4, 1), np.arange(24.0).reshape(4, 1, 1, 6)
    c = np.arange(4.0)
    for f, left in (
        (lambda p, q: p + q, a),
        (lambda p, q: q + p, a),
        (lambda p, q: p * q, c),
        (lambda p, q: fnp.where(p > 1, q, p), c),
    ):
        want = [np.asarray(f(p, q)) for p, q in zip(left, b, strict=True)]
        close(fgrad.vmap(f)(left, b), np.stack(want))


def test_axes_may_be_negative_none_and_inside_containers() -> None:
    x = {"a": np.arange(6.0).reshape(2, 3), "b": np.arange(12.0).reshape(3, 4), "c": np.array(2.0)}

    def f(tree: Any) -> Any:
        return {"s": tree["a"] * tree["c"], "t": (fnp.sum(tree["b"]), tree["b"])}

    result = fgrad.vmap(
        f, in_axes=({"a": -1, "b": 0, "c": None},), out_axes={"s": -1, "t": (0, 1)}
    )(x)
    close(result["s"], x["a"] * 2.0)
    close(result["t"][0], x["b"].sum(axis=1))
    close(result["t"][1], x["b"].T)


def test_negative_result_axes_count_the_mapped_one() -> None:
    x = np.arange(30.0).reshape(5, 2, 3)
    close(fgrad.vmap(lambda p: p, out_axes=-2)(x), np.moveaxis(x, 0, -2))


def test_an_axis_that_no_operand_has_is_refused() -> None:
    with pytest.raises(error_class("MappedAxisError", ValueError), match="3"):
        fgrad.vmap(lambda p: p, in_axes=3)(np.ones((2, 2)))


def test_mapped_sizes_that_disagree_are_named() -> None:
    kind = error_class("MappedAxisError", ValueError)
    f = fgrad.vmap(lambda p, q: p + q)
    with pytest.raises(kind, match=r"(?s)7.*5"):
        f(np.ones((7, 2)), np.ones((5, 2)))
    with pytest.raises(kind, match=r"(?s)7.*5"):
        f(np.ones(7), q=np.ones(5))
    close(f(np.ones(3), q=np.arange(3.0)), 1.0 + np.arange(3.0))


# ---- nesting ---------------------------------------------------------------------------------

MODES: dict[str, Callable[[Any], Any]] = {
    "reverse": lambda f: fgrad.grad(f),
    "forward": lambda f: lambda x: fgrad.jvp(f, (x,), (1.0,))[1],
    "jit": lambda f: fgrad.jit(fgrad.grad(f)),
    "vmap": lambda f: lambda x: fgrad.vmap(fgrad.grad(f))(fnp.stack([x]))[0],
}


@pytest.mark.parametrize("outer", MODES)
@pytest.mark.parametrize("inner", MODES)
def test_inner_and_outer_derivatives_are_not_confused(outer: str, inner: str) -> None:
    d, e = MODES[outer], MODES[inner]
    close(d(lambda x: x * e(lambda y: x + y)(1.0))(1.0), 1.0)
    close(d(lambda x: x * e(lambda y: x * y)(1.0))(4.0), 8.0)
    close(d(lambda x: e(lambda y: x**2 * y**3)(2.0))(3.0), 72.0)


def test_the_auxiliary_result_holds_plain_values() -> None:
    def f(x: Any) -> Any:
        return x**2, {"same": x, "next": x + 1, "none": None, "k": 3}

    slope, by_grad = fgrad.grad(f, has_aux=True)(3.0)
    (value, by_value_and_grad), other = fgrad.value_and_grad(f, has_aux=True)(3.0)
    assert (float(slope), float(value), float(other)) == (6.0, 9.0, 6.0)
    for aux in (by_grad, by_value_and_grad):
        assert aux["none"] is None
        assert [float(aux[key]) for key in ("same", "next", "k")] == [3.0, 4.0, 3.0]


def test_second_derivatives_pass_through_a_checkpoint() -> None:
    rng = seeded("checkpoint")
    a, b = rng.normal(size=(3, 4)), rng.normal(size=(4, 2))

    def body(xp: Any) -> Callable[[Any, Any], Any]:
        return lambda p, q: xp.sum(xp.maximum(p @ q, 0.0) ** 3)

    def outer(f: Any) -> Callable[[Any, Any], Any]:
        return lambda p, q: fnp.sum(fgrad.grad(f, 1)(p, q) ** 2)

    def slope_by_hand(p: Any) -> Any:
        return ((p.T @ (3.0 * np.maximum(p @ b, 0.0) ** 2)) ** 2).sum()

    want = gradient(slope_by_hand, a)
    for f in (body(fnp), fgrad.checkpoint(body(fnp))):
        near(fgrad.grad(outer(f))(a, b), want)
        near(fgrad.jit(fgrad.grad(outer(f)))(a, b), want)


def monomial(x: Any, y: Any, z: Any) -> Any:
    return x * y**2 * z**3


def test_argnums_may_be_negative_and_several() -> None:
    point = (2.0, 3.0, 1.0)
    close(fgrad.grad(monomial, argnums=-1)(*point), 54.0)
    slopes = fgrad.grad(monomial, argnums=(-1, 0))(*point)
    assert isinstance(slopes, tuple)
    assert [float(slope) for slope in slopes] == [54.0, 9.0]
    close(fgrad.jacrev(monomial, argnums=-2)(*point), 12.0)
    close(fgrad.jacfwd(monomial, argnums=-2)(*point), 12.0)
    close(fgrad.value_and_grad(monomial, argnums=-1)(*point)[1], 54.0)


def test_argnums_past_the_arguments_are_refused() -> None:
    with pytest.raises(error_class("ArgnumsError", TypeError), match="5"):
        fgrad.grad(monomial, argnums=5)(1.0, 2.0, 3.0)


@beyond_jax("the entries of dicts come in the order of their sorted keys")
def test_functions_see_dicts_in_the_order_of_the_caller() -> None:
    tree = {"z": np.array([1.0]), "a": np.array([2.0]), "m": np.array([3.0])}
    joined = fgrad.jit(lambda t: fnp.concatenate(list(t.values())))(tree)
    close(joined, np.array([1.0, 2.0, 3.0]))
    assert list(fgrad.jit(lambda t: t)(tree)) == ["z", "a", "m"]


# ---- refusals --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "right"), [("matmul", (4, 5)), ("dot", (4,)), ("add", (4, 3))], ids=lambda x: str(x)
)
@pytest.mark.parametrize("staged", [False, True], ids=["plain", "jit"])
def test_shapes_that_do_not_fit_are_both_named(
    name: str, right: tuple[int, ...], staged: bool
) -> None:
    def f() -> Any:
        return getattr(fnp, name)(np.ones((2, 3)), np.ones(right))

    kinds = (TypeError, ValueError) if IS_JAX else error_class("ShapeError", ValueError)
    with pytest.raises(kinds) as caught:
        (fgrad.jit(f) if staged else f)()
    # JAX names the axes that are contracted only.
    for shape in ((3,), (4,)) if IS_JAX and name != "add" else ((2, 3), right):
        assert str(shape).replace(" ", "") in str(caught.value).replace(" ", "")


def test_gradients_of_arrays_are_refused_with_the_word_scalar() -> None:
    with pytest.raises(error_class("NonScalarOutputError", TypeError), match="scalar"):
        fgrad.grad(lambda x: x**2)(np.ones(3))


def test_tangents_and_cotangents_of_another_shape_are_refused() -> None:
    kinds = (TypeError, ValueError) if IS_JAX else error_class("TangentError", TypeError)
    _, pull = fgrad.vjp(lambda x: x * 2.0, np.ones(3))
    with pytest.raises(kinds, match="4"):
        pull(np.ones(4))
    with pytest.raises(kinds, match="4"):
        fgrad.jvp(lambda x: x, (np.ones(3),), (np.ones(4),))
