"""Every public function of ``fgrad.numpy`` against NumPy, JAX, and differences.

A name counts only if all of these ran on each expression of its row: value, dtype and shape by
NumPy; jvp, vjp and second derivative by JAX and by differences; ``vmap`` over every subset of the
operands by a loop over NumPy; and ``jit`` of each. The names that have no derivative are fixed in
`NOT_DIFFERENTIABLE` with the mathematical reason.
"""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pytest
from conftest import PROFILE
from support import numpy_page
from support.modules import IS_JAX, beyond_jax, fgrad, fnp
from support.oracle import NUMPY, Call, inner, is_inexact, leaves_of
from support.rows import (
    NEEDS_VALUES,
    NO_ROW,
    NOT_DIFFERENTIABLE,
    NUMBERS_OF_SHAPE,
    ROWS,
    operands_of,
)

# Functions of NumPy that JAX lacks.
NUMPY_ONLY = (
    "asanyarray asarray_chkfinite ascontiguousarray asfortranarray common_type copyto min_scalar_type "
    "putmask real_if_close require"
).split()
# Expressions that JAX cannot trace or differentiate; differences alone speak for them.
JAX_CANNOT: dict[str, str] = {
    "xp.arccosh(Z3)": "JAX takes the root of a product where the product of two roots is right",
    **dict.fromkeys(
        ["xp.choose(JA, [A, B])", "xp.choose(J, [C, D])"], "it wants to see the indices"
    ),
    **dict.fromkeys(
        (e for name in ("compress", "extract", "unique") for e in ROWS[name]),
        "the shape depends on a mask or values, which JAX does not keep known",
    ),
    **dict.fromkeys(
        (e for name in ("poly", "roots", "linalg.eig", "linalg.eigvals") for e in ROWS[name]),
        "JAX refuses derivatives of eigenvalues of matrices that are not symmetric",
    ),
    **dict.fromkeys(
        (e for name in ("histogram2d", "histogramdd") for e in ROWS[name]),
        "JAX counts in integers where NumPy counts in floats",
    ),
    **dict.fromkeys(ROWS["fix"], "JAX has removed it"),
    **dict.fromkeys((e for name in NUMPY_ONLY for e in ROWS[name]), "JAX does not have it"),
    "xp.sinc(F)": "JAX loses half of the digits of the second slope near zero",
    "xp.polydiv(V, P3)": "the remainder of JAX keeps its leading zeros",
    "xp.polyint(C, m=2, k=[0.5, 1.5])": "JAX takes no list",
    **dict.fromkeys(
        ["xp.polyadd(D, F3)", "xp.polymul(D, F3)", "xp.polydiv(V, Q)"], "JAX takes no numbers"
    ),
}

# Public names of `fgrad.numpy` that the table has but the package does not have yet. A name that
# arrives must leave this set, which makes its row run.
NOT_YET: frozenset[str] = frozenset()

BY_JAX = 3 if PROFILE == "quick" else 1000


def lookup(module: Any, name: str) -> Any:
    for part in name.split("."):
        module = getattr(module, part, None)
    return module


def present(name: str) -> bool:
    return lookup(fnp, name) is not None


def public_functions() -> set[str]:
    """Functions of the module and of its namespaces; types and constants are none."""
    found = set()
    for prefix, module in (("", fnp), ("linalg.", fnp.linalg), ("fft.", getattr(fnp, "fft", None))):
        for name in getattr(module, "__all__", dir(module)):
            thing = getattr(module, name, None)
            scalar_type = hasattr(thing, "dtype") or isinstance(thing, type)
            if not name.startswith("_") and callable(thing) and not scalar_type:
                found.add(prefix + name)
    return found


def close(got: Any, want: Any, narrow: bool, rtol: float = 1e-9) -> None:
    got, want = np.asarray(got), np.asarray(want)
    rtol = 2e-4 if narrow else rtol
    assert got.shape == want.shape, f"shape {got.shape}, expected {want.shape}"
    if want.dtype.kind in "fc" or got.dtype.kind in "fc":
        scale = np.abs(want[np.isfinite(want)]).max(initial=1.0)
        np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol * scale)
    else:
        np.testing.assert_array_equal(got, want)


def same_values(got: Any, call: Call, want: list[Any]) -> None:
    """Value, dtype and shape by NumPy."""
    leaves = leaves_of(got)
    assert len(leaves) == len(want)
    for leaf, expected in zip(leaves, want, strict=True):
        if isinstance(expected, str):
            assert leaf == expected
            continue
        close(leaf, expected, call.narrow)
        if not IS_JAX:
            assert np.asarray(leaf).dtype == np.asarray(expected).dtype
            assert not isinstance(leaf, np.ndarray | np.generic) or isinstance(leaf, fgrad.Array)


def same(got: Any, want: Any, narrow: bool) -> None:
    got, want = leaves_of(got), leaves_of(want)
    assert len(got) == len(want)
    for left, right in zip(got, want, strict=True):
        close(left, right, narrow, 1e-12)
        assert np.asarray(left).dtype == np.asarray(right).dtype


def check_value(call: Call) -> None:
    arrays = [fnp.asarray(x) for x in call.operands]
    same_values(call.on(fnp)(*arrays), call, call.want)
    same_values(call.on(fnp)(*call.operands), call, call.want)


def check_jit(call: Call) -> None:
    seen = []

    def traced(*operands: Any) -> Any:
        result = call.on(fnp)(*operands)
        if all(isinstance(leaf, str | int | float) for leaf in leaves_of(result)):
            seen.append(result)
            return 0
        return result

    result = fgrad.jit(traced)(*call.operands)
    same_values(seen[0] if seen else result, call, call.want)


def check_vmap(call: Call) -> None:
    for mapped in call.subsets():
        stacked, rows = call.rows(mapped)
        in_axes = tuple(0 if n in mapped else None for n in range(len(stacked)))
        seen = []

        def row(*operands: Any, seen: list[Any] = seen) -> Any:
            result = call.on(fnp)(*operands)
            if all(isinstance(leaf, str | int | float) for leaf in leaves_of(result)):
                seen.append(result)
                return 0
            return result

        mapped_row = fgrad.vmap(row, in_axes=in_axes)
        result = mapped_row(*stacked)
        if seen:
            same_values(seen[0], call, rows[0])
            continue
        want = [np.stack(pair) for pair in zip(*rows, strict=True)]
        same_values(result, call, want)
        same_values(fgrad.jit(mapped_row)(*stacked), call, want)
        # The last axis as the mapped one.
        moved = [np.moveaxis(x, 0, -1) if n in mapped else x for n, x in enumerate(stacked)]
        in_axes = tuple(-1 if n in mapped else None for n in range(len(stacked)))
        same_values(fgrad.vmap(row, in_axes=in_axes)(*moved), call, want)


def check_derivatives(call: Call, by_jax: bool, by_jit: bool) -> None:
    run = call.derivatives(fgrad, call.on(fnp), fnp.asarray)
    primals = [fnp.asarray(call.operands[n]) for n in call.moving]
    results = run(primals, call.tangents, call.cotangents)
    pushed, first, second = results
    for tangent, want in zip(pushed, (x for x in call.want if is_inexact(x)), strict=True):
        assert np.asarray(tangent).shape == np.shape(want)
        if not IS_JAX:
            assert np.asarray(tangent).dtype == np.asarray(want).dtype
    for ct, primal in zip([*first, *second], primals * 2, strict=True):
        assert (np.asarray(ct).dtype, np.shape(ct)) == (primal.dtype, primal.shape)
    if by_jax:
        for got, want in zip(results, call.by_jax(), strict=True):
            for left, right in zip(got, want, strict=True):
                close(left, right, call.narrow, 1e-8)
    if "'float32'" not in call.expression:
        for left, right in zip(pushed, call.tangent_by_differences(), strict=True):
            known = np.isfinite(right)
            close(np.asarray(left)[known], right[known], call.narrow, 1e-5)
    paired = inner(call.cotangents, pushed), inner(first, call.tangents)
    if np.isfinite(paired[0]):
        np.testing.assert_allclose(
            *paired, rtol=2e-4 if call.narrow else 1e-9, atol=1e-4 if call.narrow else 1e-9
        )
    if "'float32'" not in call.expression:
        restricted = call.inexact(call.on(fnp))

        def pulled(*moved: Any) -> Any:
            out, pull = fgrad.vjp(restricted, *moved)
            cotangents = zip(call.cotangents, out, strict=True)
            return pull([fnp.asarray(ct).astype(leaf.dtype) for ct, leaf in cotangents])

        for left, right in zip(second, call.second_by_differences(pulled), strict=True):
            known = np.isfinite(right)
            close(np.asarray(left)[known], right[known], call.narrow, 1e-4)
    if by_jit:
        same(fgrad.jit(run)(primals, call.tangents, call.cotangents), results, call.narrow)


def check_integer_tangents(call: Call) -> None:
    """Integer and boolean results have tangents of dtype float0."""
    arrays = [fnp.asarray(x) for x in call.operands]

    def moved(*new: Any) -> Any:
        full = list(arrays)
        for n, value in zip(call.moving, new, strict=True):
            full[n] = value
        return call.on(fnp)(*full)

    primals = tuple(arrays[n] for n in call.moving)
    _, pushed = fgrad.jvp(moved, primals, tuple(call.tangents))
    for tangent, want in zip(leaves_of(pushed), call.want, strict=True):
        if not is_inexact(want):
            assert np.asarray(tangent).dtype == fgrad.dtypes.float0
            assert np.shape(tangent) == np.shape(want)


def run_row(name: str) -> Counter[str]:
    """Run everything that the row of a name promises; what ran, counted."""
    ran: Counter[str] = Counter()
    for number, expression in enumerate(ROWS[name]):
        call = Call(expression)
        check_value(call)
        ran["value"] += 1
        traceable = not NEEDS_VALUES & {name, expression}
        if traceable:
            check_jit(call)
            ran["jit"] += 1
            if call.operands:
                check_vmap(call)
                ran["vmap"] += 1
        arrays = all(isinstance(x, np.ndarray | np.generic) for x in call.want)
        if name in NOT_DIFFERENTIABLE:
            if call.moving and arrays and traceable:
                check_integer_tangents(call)
        elif call.moving and any(is_inexact(x) for x in call.want):
            first = number < BY_JAX or "'float32'" in expression
            check_derivatives(call, first and expression not in JAX_CANNOT, traceable)
            ran["derivatives"] += 1
    return ran


# Rows that JAX cannot run as the module under test, for the reasons above or those given here.
BEYOND_JAX = {
    "arccosh": "its slope is on the wrong branch",
    "fix": "JAX has removed it",
    **dict.fromkeys(NUMPY_ONLY, "JAX does not have it"),
    "promote_types": "float32 with int64 is float32 in JAX",
    "unique": "its derivative is zero in JAX",
    **dict.fromkeys(("choose", "compress", "extract"), "known values are unknown under jit"),
    **dict.fromkeys(("histogram2d", "histogramdd"), "JAX counts in integers"),
    **dict.fromkeys(("linalg.eig", "linalg.eigvals", "poly", "roots"), "JAX refuses to derive it"),
}


def rows_to_run() -> list[Any]:
    if not IS_JAX:
        return sorted(set(ROWS) - NOT_YET)
    marked = [pytest.param(n, marks=beyond_jax(why)) for n, why in BEYOND_JAX.items()]
    return [*sorted(set(ROWS) - set(BEYOND_JAX)), *marked]


@pytest.mark.parametrize("name", rows_to_run())
def test_a_function_agrees_with_its_oracles(name: str) -> None:
    ran = run_row(name)
    assert ran["value"] == len(ROWS[name])
    if name not in NEEDS_VALUES:
        assert ran["jit"] == len(set(ROWS[name]) - NEEDS_VALUES)
        assert ran["vmap"] or not any(map(operands_of, ROWS[name]))
    assert (ran["derivatives"] == 0) == (name in NOT_DIFFERENTIABLE)


def test_every_public_name_has_a_row() -> None:
    assert public_functions() - set(ROWS) - NO_ROW == set()


@pytest.mark.skipif(IS_JAX, reason="the page is that of fgrad")
def test_the_page_of_functions_is_that_of_the_table() -> None:
    written = numpy_page.PAGE.read_text(encoding="utf-8")
    assert written == numpy_page.page(), "run python tests/support/numpy_page.py"


def test_the_names_that_are_still_missing_are_listed() -> None:
    missing = {name for name in ROWS if not present(name)}
    assert missing == ({"fix", *NUMPY_ONLY} if IS_JAX else NOT_YET)


def test_expressions_call_the_function_of_their_row() -> None:
    for name, expressions in ROWS.items():
        for expression in expressions:
            assert f"xp.{name}" in expression


def test_a_name_without_derivative_has_no_inexact_result() -> None:
    for name, reason in NOT_DIFFERENTIABLE.items():
        for expression in ROWS[name]:
            call = Call(expression)
            if call.moving and reason != NUMBERS_OF_SHAPE and name not in ("nextafter", "spacing"):
                assert not any(is_inexact(x) for x in call.want), expression


DTYPES = (
    "bool",
    "int8",
    "uint8",
    "int32",
    "int64",
    "uint64",
    "float32",
    "float64",
    "complex64",
    "complex128",
)
PROMOTING = ("add", "multiply", "maximum", "true_divide", "power", "where", "concatenate", "matmul")


@pytest.mark.parametrize("name", PROMOTING)
def test_strong_dtypes_promote_as_numpy_2(name: str) -> None:
    ran = 0
    for left, right in itertools.product(DTYPES, DTYPES):
        a, b = np.array([1, 0, 1], left), np.array([1, 1, 0], right)
        if name == "where":
            args: tuple[Any, ...] = (np.array([True, False, True]), a, b)
        else:
            args = ((a, b),) if name == "concatenate" else (a, b)
        try:
            with np.errstate(all="ignore"):
                want = getattr(np, name)(*args)
        except TypeError:
            with pytest.raises(TypeError):
                getattr(fnp, name)(*args)
            continue
        with np.errstate(all="ignore"):
            got = getattr(fnp, name)(*args)
        close(got, want, True)
        if not IS_JAX:
            assert got.dtype == want.dtype, (left, right)
            assert fgrad.eval_shape(getattr(fnp, name), *args).dtype == want.dtype, (left, right)
        ran += 1
    assert ran >= 90


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d != "bool"])
@pytest.mark.parametrize("scalar", [2, 0.5, 1j, True])
def test_a_python_scalar_promotes_weakly(dtype: str, scalar: Any) -> None:
    x = np.array([1, 2, 3], dtype)
    for name in ("add", "multiply", "subtract"):
        want = getattr(np, name)(x, scalar)
        for function in (
            getattr(fnp, name),
            fgrad.jit(lambda a, n=name: getattr(fnp, n)(a, scalar)),
        ):
            got = function(x, scalar) if function is getattr(fnp, name) else function(x)
            close(got, want, True)
            if not IS_JAX:
                assert got.dtype == want.dtype


@pytest.mark.parametrize("name", [] if IS_JAX else sorted(ROWS))
def test_in_32_bit_mode_nothing_is_wider(name: str) -> None:
    fgrad.config.update("fgrad_enable_x64", False)
    try:
        for expression in ROWS[name]:
            call = Call(expression)
            with np.errstate(all="ignore"):
                leaves = leaves_of(call.on(fnp)(*call.operands))
            for leaf in leaves:
                dtype = np.asarray(leaf).dtype
                assert not isinstance(leaf, fgrad.Array) or dtype.name not in WIDE, expression
    finally:
        fgrad.config.update("fgrad_enable_x64", True)


WIDE = ("int64", "uint64", "float64", "complex128")


def test_the_reference_numpy_keeps_its_arguments() -> None:
    x = np.zeros(3)
    assert NUMPY.put(x, [1], 2.0, inplace=False).tolist() == [0.0, 2.0, 0.0]
    assert x.tolist() == [0.0, 0.0, 0.0]
