"""The laws that every primitive obeys, one generated class for each that is declared.

The values and derivatives of a primitive are held against its own other rules, against differences,
and against a loop over examples; what its values should be is the business of other tests.
"""

from __future__ import annotations

import functools
import importlib
import itertools
import pkgutil
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import (  # noqa: F401  they enter makers
    samples,
    samples_arrays,
    samples_control,
    samples_linalg,
    samples_matrix_functions,
    samples_random,
)
from support.draws import DTYPES, Draw, NotApplicable, Sample, from_hypothesis, from_seed, numbers

import fgrad.primitives
import fgrad.transforms
from fgrad.array import value, wrap
from fgrad.avals import Aval, aval_of
from fgrad.compiler import compiled
from fgrad.dtypes import is_inexact
from fgrad.errors import FgradError, UnboundedLoopError
from fgrad.ir.jaxpr import Eqn, Jaxpr, Var
from fgrad.primitives.families import CLASSES, SINGLETONS, Ufunc, match_aval
from fgrad.primitives.shape import spread
from fgrad.transforms.jvp import jvp
from fgrad.transforms.vjp import vjp

for package in (fgrad.primitives, fgrad.transforms):
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
samples.enter_ufuncs()


def names() -> set[str]:
    """All primitives of the library; classes of those without parameters stand for their instances."""
    singletons = {n for n, p in SINGLETONS.items() if type(p).__module__ != "fgrad.extend"}
    classes = {
        cls.__name__
        for cls in CLASSES
        if cls.__module__.startswith("fgrad.") and not issubclass(cls, Ufunc)
    }
    # What examples do together has its laws over all of them: tests/test_collectives.py.
    classes -= {"AllGather", "SumScatter"}
    return singletons | classes | {"Call", "Checkpointed", "Cond", "LinearSolve", "Scan", "While"}


REGISTRY = sorted(names())
STEP = 1e-4
# Fourth-order differences at this step are exact to some 1e-10 where the function is tame.
DIFFERENCE = 2e-8


def test_every_primitive_has_a_sample() -> None:
    missing = sorted(set(REGISTRY) - set(samples.MAKERS))
    assert not missing, f"no maker of examples in tests/support for: {', '.join(missing)}"
    gone = sorted(set(samples.MAKERS) - set(REGISTRY))
    assert not gone, f"makers of examples of primitives that do not exist: {', '.join(gone)}"


# ---- helpers -------------------------------------------------------------------------------------


def listed(result: Any, primitive: Any) -> list[Any]:
    return list(result) if primitive.multiple_results else [result]


def run(primitive: Any, operands: Sequence[Any]) -> list[Any]:
    return listed(primitive(*operands), primitive)


def function_of(primitive: Any) -> Callable[..., list[Any]]:
    """The primitive as users would call it."""
    return lambda *xs: [wrap(r) for r in run(primitive, [value(x) for x in xs])]


def moving(sample: Sample) -> list[int]:
    return [n for n, x in enumerate(sample.operands) if is_inexact(aval_of(x).dtype)]


def restricted(sample: Sample, operands: Sequence[Any]) -> Callable[..., list[Any]]:
    """The inexact results as a function of the inexact operands."""
    places = moving(sample)
    avals = listed(sample.primitive.abstract_eval(*map(aval_of, operands)), sample.primitive)

    def function(*moved: Any) -> list[Any]:
        full = list(operands)
        for n, x in zip(places, moved, strict=True):
            full[n] = value(x)
        results = run(sample.primitive, full)
        return [wrap(r) for r, a in zip(results, avals, strict=True) if is_inexact(a.dtype)]

    return function


def directions(rng: np.random.Generator, like: Sequence[Any]) -> list[Any]:
    avals = [aval_of(value(x)) for x in like]
    return [match_aval(numbers(rng, a.shape, a.dtype), a) for a in avals]


def wide(x: Any) -> Any:
    dtype = np.asarray(x).dtype
    return np.asarray(x).astype({"c": np.complex128, "f": np.float64}.get(dtype.kind, dtype))[()]


def eps_of(*groups: Sequence[Any]) -> float:
    """The rounding error of the narrowest floating dtype."""
    found = [np.asarray(x).dtype for group in groups for x in group]
    return max((float(np.finfo(d).eps) for d in found if d.kind in "fc"), default=0.0)


def close(got: Sequence[Any], expected: Sequence[Any], tolerance: float, what: str) -> None:
    assert len(got) == len(expected), what
    for a, b in zip(got, expected, strict=True):
        a, b = wide(a), wide(b)
        if b.dtype.kind not in "fc":
            np.testing.assert_array_equal(a, b, err_msg=what)
            continue
        assert a.shape == b.shape, f"{what}: shape {a.shape}, expected {b.shape}"
        scale = max(1.0, float(np.max(np.abs(b), initial=0.0, where=np.isfinite(b))))
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        with np.errstate(invalid="ignore"):
            fits = same | (np.abs(a - b) <= tolerance * scale)
        assert fits.all(), f"{what}:\n{a}\nexpected\n{b}\nwithin {tolerance * scale:.3g}"


def same_bits(got: Sequence[Any], expected: Sequence[Any], what: str) -> None:
    for a, b in zip(got, expected, strict=True):
        if np.asarray(b).dtype.kind == "c":
            # NumPy multiplies complex scalars and arrays with different instructions.
            close([a], [b], 4 * eps_of([b]), what)
            continue
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b), err_msg=what)
        signs = (
            [np.signbit(np.real(x)) & (np.asarray(x) == 0) for x in (a, b)] if is_float(a) else []
        )
        if signs:
            assert (signs[0] == signs[1]).all(), f"{what}: zeros of another sign"


def is_float(x: Any) -> bool:
    return np.asarray(x).dtype.kind in "fc"


def check_types(results: Sequence[Any], avals: Sequence[Aval], what: str) -> None:
    assert [aval_of(r) for r in results] == list(avals), what


def equation(primitive: Any, avals: Sequence[Aval]) -> Jaxpr:
    """A program of this one application."""
    invars = [Var(aval) for aval in avals]
    outvars = tuple(Var(aval) for aval in listed(primitive.abstract_eval(*avals), primitive))
    return Jaxpr([], [], invars, [Eqn(primitive, tuple(invars), outvars)], outvars, "law")


def differences(
    function: Callable[..., Sequence[Any]], at: list[Any], along: list[Any]
) -> list[Any]:
    """The directional derivative by fourth-order central differences."""
    total: list[Any] = []
    for distance, weight in ((1, 2 / 3), (-1, -2 / 3), (2, -1 / 12), (-2, 1 / 12)):
        moved = [x + distance * STEP * t for x, t in zip(at, along, strict=True)]
        part = [weight / STEP * wide(r) for r in function(*moved)]
        total = [a + b for a, b in zip(total, part, strict=True)] if total else part
    return total


def pairing(left: Sequence[Any], right: Sequence[Any]) -> float:
    """The real pairing of cotangents with tangents: it does not conjugate."""
    return sum(float(np.sum(wide(a) * wide(b)).real) for a, b in zip(left, right, strict=True))


# ---- the laws ------------------------------------------------------------------------------------


def law_of_types(sample: Sample) -> None:
    """abstract_eval tells the type of the real result, which never is an operand itself."""
    primitive, operands = sample.primitive, sample.operands
    before = [np.array(x) for x in operands]
    results = run(primitive, operands)
    avals = listed(primitive.abstract_eval(*map(aval_of, operands)), primitive)
    check_types(results, avals, f"{primitive!r} of {[str(aval_of(x)) for x in operands]}")
    for x, kept in zip(operands, before, strict=True):
        np.testing.assert_array_equal(x, kept, err_msg=f"{primitive!r} changed an operand")
    for result in results:
        if type(result) is not np.ndarray:
            continue
        assert all(result is not x for x in operands), f"{primitive!r} returned an operand"
        assert not result.flags.writeable
        if not primitive.view:
            shared = [np.shares_memory(result, x) for x in operands]
            assert not any(shared), f"{primitive!r} shares memory without saying so"


def law_of_compilation(sample: Sample) -> None:
    """The compiled application computes what the implementation does."""
    primitive, operands = sample.primitive, sample.operands
    results = run(primitive, operands)
    program = compiled(equation(primitive, [aval_of(x) for x in operands]))
    got = program(*operands)
    check_types(got, [aval_of(r) for r in results], f"compiled {primitive!r}")
    if sample.exact:
        same_bits(got, results, f"compiled {primitive!r}\n{program.source}")
    else:
        close(got, results, 8 * sample.slack * eps_of(results), f"compiled {primitive!r}")


def law_of_the_tangent(sample: Sample, rng: np.random.Generator) -> bool:
    """The jvp rule gives the directional derivative."""
    places = moving(sample)
    primals = [sample.operands[n] for n in places]
    function = restricted(sample, sample.operands)
    tangents = directions(rng, primals)
    values, pushed = jvp(function, primals, tangents)
    if not values:
        return False
    what = f"the value of {sample.primitive!r} under jvp"
    if sample.exact:
        same_bits(values, function(*primals), what)
    else:
        close(values, function(*primals), 8 * sample.slack * eps_of(values), what)
    check_types([value(t) for t in pushed], [aval_of(value(v)) for v in values], "tangents")
    for subset in itertools.product((False, True), repeat=len(places)):
        # Along some operands only: the others have symbolic zeros.
        if all(subset) or not any(subset):
            continue
        part = [t if kept else 0 * t for t, kept in zip(tangents, subset, strict=True)]
        rest = [0 * t if kept else t for t, kept in zip(tangents, subset, strict=True)]
        chosen = [n for n, kept in enumerate(subset) if kept]

        def fewer(*moved: Any, chosen: list[int] = chosen) -> list[Any]:
            full = list(primals)
            for n, x in zip(chosen, moved, strict=True):
                full[n] = x
            return function(*full)

        one = jvp(fewer, [primals[n] for n in chosen], [tangents[n] for n in chosen])[1]
        other = jvp(function, primals, rest)[1]
        both = [wide(a) + wide(b) for a, b in zip(one, other, strict=True)]
        rounding = 16 * sample.slack * eps_of(primals, values)
        close(both, pushed, rounding, f"the tangent of {sample.primitive!r}, in parts {part}")
    if not sample.smooth:
        return True
    wide_operands = [wide(x) for x in sample.operands]
    wide_function = restricted(sample, wide_operands)
    wide_primals = [wide(x) for x in primals]
    expected = differences(wide_function, wide_primals, [wide(t) for t in tangents])
    tolerance = sample.slack * (DIFFERENCE + 16 * eps_of(primals, values))
    close(pushed, expected, tolerance, f"the tangent of {sample.primitive!r}")
    return True


def law_of_transposition(sample: Sample, rng: np.random.Generator) -> bool:
    """``<ct, jvp(t)> == <vjp(ct), t>``, for each operand on its own too."""
    places = moving(sample)
    primals = [sample.operands[n] for n in places]
    function = restricted(sample, sample.operands)
    tangents = directions(rng, primals)
    values, pushed = jvp(function, primals, tangents)
    if not values:
        return False
    cotangents = directions(rng, values)
    _, pullback = vjp(function, *primals)
    if refuses_cotangents(sample.primitive):
        with pytest.raises(UnboundedLoopError):
            pullback(cotangents)
        return True
    pulled = pullback(cotangents)
    check_types([value(c) for c in pulled], [aval_of(x) for x in primals], "cotangents")
    size = 1 + sum(
        float(np.sum(np.abs(wide(a) * wide(b)))) for a, b in zip(pulled, tangents, strict=True)
    )
    tolerance = 32 * sample.slack * eps_of(primals, values) * size
    assert abs(pairing(cotangents, pushed) - pairing(pulled, tangents)) <= tolerance, (
        f"<ct, jvp(t)> is {pairing(cotangents, pushed)}, <vjp(ct), t> is {pairing(pulled, tangents)}"
    )
    for n in range(len(places)):

        def alone(x: Any, n: int = n) -> list[Any]:
            return function(*primals[:n], x, *primals[n + 1 :])

        (one,) = vjp(alone, primals[n])[1](cotangents)
        close(
            [one], [pulled[n]], 16 * sample.slack * eps_of(primals, values), f"cotangent {n} alone"
        )
    return True


def law_of_the_second_derivative(sample: Sample, rng: np.random.Generator) -> bool:
    """The rules are differentiable: forward over reverse, and reverse over reverse."""
    places = moving(sample)
    primals = [sample.operands[n] for n in places]
    function = restricted(sample, sample.operands)
    values = function(*primals)
    if not values:
        return False
    if refuses_cotangents(sample.primitive):
        return law_of_the_second_tangent(sample, rng)
    cotangents = directions(rng, values)

    def gradient(*moved: Any) -> list[Any]:
        return list(vjp(function, *moved)[1](cotangents))

    tangents = directions(rng, primals)
    first, second = jvp(gradient, primals, tangents)
    check_types([value(t) for t in second], [aval_of(x) for x in primals], "second derivatives")
    other = directions(rng, first)
    twice = vjp(gradient, *primals)[1](other)
    size = 1 + sum(
        float(np.sum(np.abs(wide(a) * wide(b)))) for a, b in zip(twice, tangents, strict=True)
    )
    rounding = 64 * sample.slack * eps_of(primals, values)
    assert abs(pairing(other, second) - pairing(twice, tangents)) <= rounding * size
    if sample.smooth:
        wide_function = restricted(sample, [wide(x) for x in sample.operands])
        wide_cotangents = [wide(c) for c in cotangents]

        def wide_gradient(*moved: Any) -> list[Any]:
            results, pullback = vjp(wide_function, *moved)
            matched = [
                match_aval(c, aval_of(value(r)))
                for c, r in zip(wide_cotangents, results, strict=True)
            ]
            return list(pullback(matched))

        expected = differences(
            wide_gradient, [wide(x) for x in primals], [wide(t) for t in tangents]
        )
        tolerance = 10 * sample.slack * (DIFFERENCE + 16 * eps_of(primals, values))
        close(second, expected, tolerance, f"the second derivative of {sample.primitive!r}")
    return True


def refuses_cotangents(primitive: Any) -> bool:
    """Whether a primitive has forward mode only."""
    return hasattr(primitive, "refusal")


def law_of_the_second_tangent(sample: Sample, rng: np.random.Generator) -> bool:
    """The jvp rule is differentiable: forward over forward."""
    places = moving(sample)
    primals = [sample.operands[n] for n in places]
    along, tangents = directions(rng, primals), directions(rng, primals)

    def pushed(function: Any, *moved: Any) -> list[Any]:
        directions_there = [
            match_aval(t, aval_of(value(x))) for t, x in zip(along, moved, strict=True)
        ]
        return list(jvp(function, moved, directions_there)[1])

    function = restricted(sample, sample.operands)
    second = jvp(functools.partial(pushed, function), primals, tangents)[1]
    if not sample.smooth:
        return True
    wide_function = restricted(sample, [wide(x) for x in sample.operands])
    expected = differences(
        functools.partial(pushed, wide_function),
        [wide(x) for x in primals],
        [wide(t) for t in tangents],
    )
    tolerance = 10 * sample.slack * (DIFFERENCE + 16 * eps_of(primals, second))
    close(second, expected, tolerance, f"the second tangent of {sample.primitive!r}")
    return True


def subsets(count: int) -> Iterator[tuple[bool, ...]]:
    for chosen in itertools.product((False, True), repeat=count):
        if any(chosen):
            yield chosen


def law_of_batching(sample: Sample, size: int) -> int:
    """The batching rule computes what a loop over examples does, whichever operands are mapped."""
    primitive = sample.primitive
    rows = [sample.values(np.random.default_rng(seed)) for seed in range(max(size, 1))]
    rows[0] = sample.operands
    done = 0
    for mapped in subsets(len(sample.operands)):
        args = [
            np.stack([np.asarray(row[n]) for row in rows])[:size] if m else sample.operands[n]
            for n, m in enumerate(mapped)
        ]
        answer, is_mapped = primitive.batch(size, args, mapped)
        answers = listed(answer, primitive)
        flags = listed(is_mapped, primitive)
        whole = [a if m else spread(a, size) for a, m in zip(answers, flags, strict=True)]
        what = f"{primitive!r} over {mapped}"
        avals = listed(primitive.abstract_eval(*map(aval_of, sample.operands)), primitive)
        check_types(whole, [Aval((size, *a.shape), a.dtype) for a in avals], what)
        for i in range(size):
            example = [rows[i][n] if m else sample.operands[n] for n, m in enumerate(mapped)]
            expected = run(primitive, example)
            got = [w[i] for w in whole]
            if sample.exact:
                same_bits(got, expected, what)
            else:
                close(got, expected, 16 * sample.slack * eps_of(expected), what)
        done += 1
    return done


# ---- a class for each primitive ------------------------------------------------------------------


def differentiable(name: str) -> bool:
    declared = SINGLETONS.get(name) or next((c for c in CLASSES if c.__name__ == name), None)
    return declared is None or declared.differentiable


def drawn(name: str, draw: Draw) -> Sample | None:
    try:
        return samples.MAKERS[name](draw)
    except NotApplicable:
        return None


#: Sizes that a primitive has no application of: it needs an axis, or an element.
NOT_OF_SIZE = {
    "scalar": frozenset(
        "Concatenate Iota Eye Tri Argmax Argmin Cumsum Cumprod Cummax Cummin Cumlogsumexp "
        "LinearRecurrence Gather AddAt DynamicSlice DynamicEmbed DynamicUpdate "
        "ScatterSet ScatterAdd ScatterMultiply ScatterMin ScatterMax ProductOfOthers StableOrder "
        "Sort Argsort "
        "Permute Argpartition Lexsort Searchsorted Nonzero Bincount Unique "
        "Fourier RealFourier InverseRealFourier Cosines PackBits UnpackBits".split()
    ),
    "one": frozenset(),
    "empty": frozenset(
        "Argpartition Gather AddAt ScatterSet ScatterAdd ScatterMultiply ScatterMin ScatterMax".split()
    ),
}
#: How many examples each law must have compared to the end.
MINIMUM = 6


def laws_of(name: str) -> type:
    """The test class of a primitive. Hypothesis wants tests of its own in each class."""
    smooth = differentiable(name)

    class Laws:
        @given(data=st.data())
        def test_values(self, tally: Any, data: st.DataObject) -> None:
            tally.require(MINIMUM)
            sample = drawn(name, from_hypothesis(data))
            if sample is not None:
                law_of_types(sample)
                law_of_compilation(sample)
                tally.count()

        @given(data=st.data())
        def test_batching(self, tally: Any, data: st.DataObject) -> None:
            tally.require(MINIMUM)
            sample = drawn(name, from_hypothesis(data))
            if sample is not None:
                law_of_batching(sample, data.draw(st.integers(1, 3)))
                tally.count()

        @given(data=st.data())
        def test_derivatives(self, tally: Any, data: st.DataObject) -> None:
            tally.require(MINIMUM if smooth and samples.REAL_ORDER.get(name, 1) else 0)
            sample = drawn(name, from_hypothesis(data))
            if sample is None or not sample.order or not smooth or not moving(sample):
                return
            rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
            if law_of_the_tangent(sample, rng) and law_of_transposition(sample, rng):
                tally.count()

        @given(data=st.data())
        def test_second_derivatives(self, tally: Any, data: st.DataObject) -> None:
            tally.require(MINIMUM if smooth and samples.REAL_ORDER.get(name, 2) > 1 else 0)
            sample = drawn(name, from_hypothesis(data))
            if sample is None or sample.order < 2 or not smooth or not moving(sample):
                return
            rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
            if law_of_the_second_derivative(sample, rng):
                tally.count()

        def test_every_dtype(self) -> None:
            every_dtype(name)

        @pytest.mark.parametrize("size", ["scalar", "one", "empty"])
        def test_sizes(self, size: str) -> None:
            every_law_at_size(name, size)

        if name in SINGLETONS:

            def test_weak_operands(self) -> None:
                weak_operands(name)

    Laws.__name__ = Laws.__qualname__ = f"TestLaws_{name}"
    Laws.__doc__ = f"The laws of {name}."
    return Laws


@np.errstate(all="ignore")
def every_dtype(name: str) -> None:
    """Each dtype is computed with, compiled, batched and differentiated, or refused by name."""
    accepted = set()
    for dtype, seed in itertools.product(DTYPES, range(3)):
        sample = drawn(name, from_seed(seed, dtype=dtype))
        if sample is None:
            continue
        try:
            sample.primitive.abstract_eval(*[aval_of(x) for x in sample.operands])
        except FgradError:
            with pytest.raises(FgradError):
                sample.primitive(*sample.operands)
            continue
        accepted.add(dtype)
        law_of_types(sample)
        law_of_compilation(sample)
        law_of_batching(sample, 2)
        if differentiable(name) and sample.order and moving(sample):
            law_of_transposition(sample, np.random.default_rng(seed))
    assert accepted & {"float64", "int64"}, f"{name} accepts {accepted}"


def every_law_at_size(name: str, size: str) -> None:
    """0-d arrays, arrays of one element and empty ones obey the laws, where they make sense."""
    ran = 0
    for seed in range(6):
        sample = drawn(name, from_seed(seed, size=size))
        if sample is None:
            continue
        law_of_types(sample)
        law_of_compilation(sample)
        law_of_batching(sample, 2)
        law_of_batching(sample, 0)
        if differentiable(name) and sample.order and moving(sample):
            rng = np.random.default_rng(seed)
            law_of_the_tangent(sample, rng)
            law_of_transposition(sample, rng)
            if sample.order > 1:
                law_of_the_second_derivative(sample, rng)
        ran += 1
    assert bool(ran) != (name in NOT_OF_SIZE[size]), f"{name} has {ran} examples of size {size}"


@np.errstate(all="ignore")
def weak_operands(name: str) -> None:
    """For elementwise primitives: Python numbers in, Python numbers out."""
    primitive = SINGLETONS[name]
    ran = 0
    kinds = ((float, "float64"), (int, "int64"), (bool, "bool"), (complex, "complex128"))
    for kind, dtype in kinds:
        sample = drawn(name, from_seed(3, size="scalar", dtype=dtype))
        if sample is None:
            continue
        operands = [kind(x) if np.asarray(x).dtype == dtype else int(x) for x in sample.operands]
        avals = [aval_of(x) for x in operands]
        try:
            declared = primitive.abstract_eval(*avals)
        except FgradError:
            with pytest.raises(FgradError):
                primitive(*operands)
            continue
        assert declared.weak
        result = primitive(*operands)
        check_types([result], [declared], f"{name} of {operands}")
        (got,) = compiled(equation(primitive, avals))(*operands)
        check_types([got], [declared], f"compiled {name} of {operands}")
        same_bits([got], [result], name)
        weak = Sample(primitive, lambda rng, xs=tuple(operands): xs, smooth=False)
        weak.slack = sample.slack
        if (
            primitive.differentiable
            and sample.order
            and moving(weak)
            and is_inexact(declared.dtype)
        ):
            rng = np.random.default_rng(0)
            law_of_the_tangent(weak, rng)
            law_of_transposition(weak, rng)
        ran += 1
    assert ran


for _name in REGISTRY:
    globals()[f"TestLaws_{_name}"] = laws_of(_name)
