"""Bad shapes, axes, indices, assignments and kinds of arrays; and what tracebacks show."""

from __future__ import annotations

import functools
import inspect
import linecache
import pickle
import sys
import traceback
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from support.refusals import assert_users_traceback, is_of_fgrad, refusal

import fgrad
import fgrad.numpy as fnp
from fgrad import errors

refused = functools.partial(refusal, file=__file__)
x3 = np.array([1.0, 2.0, 3.0])


@pytest.fixture(autouse=True)
def flags_as_before() -> Iterator[None]:
    yield
    fgrad.config.update("traceback_filtering", "auto")


def under(transform: str, f: Callable[..., Any], *args: Any) -> Any:
    """Apply `f` to arrays eagerly or under a transform that maps, differentiates or records it."""
    if transform == "eager":
        return f(*[fnp.asarray(a) for a in args])
    if transform == "grad":
        return fgrad.grad(lambda *xs: fnp.sum(f(*xs)))(*args)
    if transform == "jvp":
        return fgrad.jvp(f, args, args)
    if transform == "vmap":
        return fgrad.vmap(f)(*[np.stack([a, a]) for a in args])
    return getattr(fgrad, transform)(f)(*args)


UNDER = ("eager", "grad", "jit", "vmap", "jvp", "checkpoint")
under_each = pytest.mark.parametrize("transform", UNDER)

# ---- shapes --------------------------------------------------------------------------------------

PRODUCTS: dict[str, tuple[Callable[[Any, Any], Any], tuple[int, ...], tuple[int, ...]]] = {
    "matmul": (lambda a, b: fnp.matmul(a, b), (2, 3), (4, 5)),
    "matmul @": (lambda a, b: a @ b, (2, 3), (4,)),
    "matmul stack": (lambda a, b: fnp.matmul(a, b), (2, 3, 4), (3, 4, 5)),
    "dot": (lambda a, b: fnp.dot(a, b), (2, 3), (4, 5)),
    "dot method": (lambda a, b: a.dot(b), (3,), (4,)),
    "tensordot": (lambda a, b: fnp.tensordot(a, b, 1), (2, 3), (4, 5)),
    "tensordot of axes": (lambda a, b: fnp.tensordot(a, b, ((0,), (1,))), (2, 3), (4, 5)),
    "einsum": (lambda a, b: fnp.einsum("ij,jk->ik", a, b), (2, 3), (4, 5)),
    "einsum implicit": (lambda a, b: fnp.einsum("i,i", a, b), (3,), (4,)),
    "inner": (lambda a, b: fnp.inner(a, b), (2, 3), (4, 5)),
    "vdot": (lambda a, b: fnp.vdot(a, b), (2, 3), (4, 5)),
    "vecdot": (lambda a, b: fnp.vecdot(a, b), (2, 3), (2, 4)),
    "matvec": (lambda a, b: fnp.matvec(a, b), (2, 3), (4,)),
    "vecmat": (lambda a, b: fnp.vecmat(a, b), (2,), (4, 5)),
}


@under_each
@pytest.mark.parametrize("name", sorted(PRODUCTS))
def test_products_of_shapes_that_do_not_fit(transform: str, name: str) -> None:
    product, left, right = PRODUCTS[name]
    a, b = np.ones(left), np.ones(right)
    refused(
        errors.ShapeError,
        lambda: under(transform, product, a, b),
        name.split()[0],
        str(left),
        str(right),
    )


OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: fnp.add(a, b),
    "add +": lambda a, b: a + b,
    "subtract": lambda a, b: fnp.subtract(a, b),
    "subtract -": lambda a, b: a - b,
    "multiply": lambda a, b: fnp.multiply(a, b),
    "multiply *": lambda a, b: a * b,
    "divide": lambda a, b: fnp.divide(a, b),
    "divide /": lambda a, b: a / b,
    "power **": lambda a, b: a**b,
    "floor_divide //": lambda a, b: a // b,
    "remainder %": lambda a, b: a % b,
    "less <": lambda a, b: fnp.where(a < b, 1.0, 2.0),
    "equal ==": lambda a, b: fnp.where(a == b, 1.0, 2.0),
    "maximum": lambda a, b: fnp.maximum(a, b),
    "arctan2": lambda a, b: fnp.arctan2(a, b),
    "logaddexp": lambda a, b: fnp.logaddexp(a, b),
    "hypot": lambda a, b: fnp.hypot(a, b),
    "where": lambda a, b: fnp.where(a > 0, a, b),
}


@under_each
@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_operands_that_do_not_broadcast(transform: str, name: str) -> None:
    operation = OPERATIONS[name]
    a, b = np.ones((2, 3)), np.ones((2, 4))
    refused(
        errors.ShapeError,
        lambda: under(transform, operation, a, b),
        name.split()[0],
        "(2, 3)",
        "(2, 4)",
        "broadcast",
    )


SHAPES: dict[str, tuple[Callable[[Any], Any], tuple[str, ...]]] = {
    "reshape": (lambda x: fnp.reshape(x, (2, 2)), ("(3,)", "(2, 2)")),
    "reshape method": (lambda x: x.reshape(2, -1), ("(3,)", "(2, -1)")),
    "broadcast_to": (lambda x: fnp.broadcast_to(x, (4,)), ("(3,)", "(4,)")),
    "concatenate": (lambda x: fnp.concatenate([x, x[None]]), ("(3,)", "(1, 3)")),
    "stack": (lambda x: fnp.stack([x, x[:2]]), ("(3,)", "(2,)")),
    "x.at": (lambda x: x.at[:2].set(x), ("(3,)", "(2,)")),
    "squeeze": (lambda x: fnp.squeeze(x, 0), ("(3,)", "size 3")),
}


@under_each
@pytest.mark.parametrize("name", sorted(SHAPES))
def test_shapes_that_do_not_fit(transform: str, name: str) -> None:
    f, words = SHAPES[name]
    refused(errors.ShapeError, lambda: under(transform, f, x3), name.split()[0], *words)


AXES: dict[str, tuple[Callable[[Any], Any], tuple[str, ...]]] = {
    "sum": (lambda x: fnp.sum(x, axis=2), ("axis 2", "2 axes", "from -2 to 1")),
    "sum method": (lambda x: x.sum(-3), ("axis -3", "2 axes")),
    "mean": (lambda x: fnp.mean(x, axis=5), ("axis 5", "2 axes")),
    "max": (lambda x: fnp.max(x, axis=(0, 2)), ("axis 2", "2 axes")),
    "cumsum": (lambda x: fnp.cumsum(x, axis=2), ("axis 2", "2 axes")),
    "sort": (lambda x: fnp.sort(x, axis=2), ("axis 2", "2 axes")),
    "argmax": (lambda x: fnp.argmax(x, axis=2) * 1.0, ("axis 2", "2 axes")),
    "flip": (lambda x: fnp.flip(x, 2), ("axis 2", "2 axes")),
    "concatenate": (lambda x: fnp.concatenate([x, x], axis=2), ("axis 2", "2 axes")),
    "stack": (lambda x: fnp.stack([x, x], axis=3), ("axis 3", "3 axes")),
    "expand_dims": (lambda x: fnp.expand_dims(x, 3), ("axis 3", "3 axes")),
    "moveaxis": (lambda x: fnp.moveaxis(x, 0, 2), ("axis 2", "2 axes")),
    "swapaxes": (lambda x: fnp.swapaxes(x, 0, 2), ("axis 2", "2 axes")),
    "take": (lambda x: fnp.take(x, 0, axis=2), ("axis 2", "2 axes")),
    "transpose": (lambda x: fnp.transpose(x, (0, 2)), ("axis 2", "2 axes")),
}


@under_each
@pytest.mark.parametrize("name", sorted(AXES))
def test_an_axis_that_is_not_there(transform: str, name: str) -> None:
    f, words = AXES[name]
    refused(errors.AxisError, lambda: under(transform, f, np.ones((2, 3))), name.split()[0], *words)


TWICE: dict[str, Callable[[Any], Any]] = {
    "sum": lambda x: fnp.sum(x, axis=(0, 0)),
    "mean": lambda x: fnp.mean(x, axis=(0, -2)),
    "max": lambda x: fnp.max(x, axis=(1, -1)),
    "expand_dims": lambda x: fnp.expand_dims(x, (0, 0)),
    "tensordot": lambda x: fnp.tensordot(x, x, ((0, 0), (0, 1))),
    "transpose": lambda x: fnp.transpose(x, (1, 1)),
    "moveaxis": lambda x: fnp.moveaxis(x, (0, 0), (0, 1)),
    "flip": lambda x: fnp.flip(x, (0, 0)),
}


@under_each
@pytest.mark.parametrize("name", sorted(TWICE))
def test_an_axis_given_twice(transform: str, name: str) -> None:
    refused(errors.AxisError, lambda: under(transform, TWICE[name], np.ones((2, 3))), name)


# ---- indices -------------------------------------------------------------------------------------

OUTSIDE: dict[str, tuple[Callable[[Any], Any], tuple[str, ...]]] = {
    "integer": (lambda x: x[3], ("index 3", "axis 0", "size 3", "(3, 2)")),
    "negative": (lambda x: x[-4], ("index -4", "axis 0", "size 3", "(3, 2)")),
    "second axis": (lambda x: x[:, 2], ("index 2", "axis 1", "size 2", "(3, 2)")),
    "array": (lambda x: x[np.array([0, 5])], ("index 5", "axis 0", "size 3", "(3, 2)")),
    "list": (lambda x: x[[0, -7]], ("index -7", "axis 0", "size 3", "(3, 2)")),
    "take": (lambda x: fnp.take(x, 3, axis=0), ("index 3", "axis 0", "size 3", "(3, 2)")),
    "too many": (lambda x: x[0, 0, 0], ("3 axes", "(3, 2)")),
    "mask": (lambda x: x[np.ones(4, bool)], ("(4,)", "(3, 2)", "mask")),
    "arrays": (lambda x: x[[0, 1, 2], [0, 1]], ("(3,)", "(2,)", "broadcast")),
}


@under_each
@pytest.mark.parametrize("name", sorted(OUTSIDE))
def test_a_static_index_that_is_out_of_range(transform: str, name: str) -> None:
    f, words = OUTSIDE[name]
    refused(errors.IndexOutOfRangeError, lambda: under(transform, f, np.ones((3, 2))), *words)


def pick(x: Any, i: Any) -> Any:
    return x[i]


def test_an_index_that_is_out_of_range_when_the_compiled_function_runs() -> None:
    compiled = fgrad.jit(pick)
    assert compiled(x3, 2) == 3.0
    place = f"test_errors_of_arrays.py:{pick.__code__.co_firstlineno + 1} (pick)"
    words = ("index 5", "axis 0", "size 3", "(3,)", place)
    kind = errors.IndexOutOfRangeError
    refused(kind, lambda: compiled(x3, 5), *words, placed=False)
    # Here only the gradient is computed, by an equation of the line that asked for it.
    refused(kind, lambda: fgrad.jit(fgrad.grad(pick))(x3, 5), *words[:-1])
    refused(kind, lambda: fgrad.vmap(pick, (None, 0))(x3, np.array([0, 5])), *words, placed=False)
    refused(kind, lambda: fgrad.grad(compiled)(x3, 5), *words, placed=False)


NO_INDEX: dict[str, tuple[Callable[[Any], Any], tuple[str, ...]]] = {
    "float": (lambda x: x[1.0], ("1.0", "float", "integers")),
    "string": (lambda x: x["a"], ("'a'", "str", "integers")),
    "float array": (lambda x: x[np.array([0.5])], ("float64", "integers")),
    "slice": (lambda x: x[:1.5], ("1.5", "slice")),
    "ellipses": (lambda x: x[..., ...], ("Ellipsis",)),
    "object": (lambda x: x[{1}], ("{1}", "set")),
}


@under_each
@pytest.mark.parametrize("name", sorted(NO_INDEX))
def test_what_cannot_be_an_index(transform: str, name: str) -> None:
    f, words = NO_INDEX[name]
    refused(errors.IndexTypeError, lambda: under(transform, f, np.ones((3, 2))), *words)


def test_masks_and_bounds_of_unknown_value() -> None:
    def positives(x: Any) -> Any:
        return x[x > 0]

    def window(x: Any, n: Any) -> Any:
        return x[:n]

    kind = errors.NonConcreteBooleanIndexError
    who = f"(test_errors_of_arrays.py:{positives.__code__.co_firstlineno})"
    refused(
        kind, lambda: fgrad.jit(positives)(x3), f"jit of positives {who}", "argument x", "where"
    )
    refused(kind, lambda: fgrad.vmap(positives)(np.ones((2, 3))), "vmap of positives", "argument x")
    assert fgrad.grad(lambda x: positives(x).sum())(x3).shape == (3,)
    kind = errors.IndexTypeError
    refused(kind, lambda: fgrad.jit(window)(x3, 2), "jit of window", "argument n", "dynamic_slice")
    refused(
        kind,
        lambda: fgrad.vmap(window, (None, 0))(x3, np.arange(2)),
        "vmap of window",
        "argument n",
    )


# ---- assignments ---------------------------------------------------------------------------------


def assigned(code: str) -> Callable[[Any], Any]:
    """A function whose body is one statement on x, in this file as far as tracebacks know."""
    filename = __file__
    source = f"def f(x):\n    {code}\n    return fnp.sum(x)\n"
    namespace: dict[str, Any] = {"np": np, "fnp": fnp}
    exec(compile(source, filename, "exec"), namespace)
    return namespace["f"]  # type: ignore[no-any-return]


@under_each
@pytest.mark.parametrize(
    ("index", "words"),
    [
        ("0", "0"),
        ("-1", "-1"),
        ("1:", "1:"),
        ("::2", "::2"),
        ("1:3", "1:3"),
        ("...", "..."),
        ("[0, 1]", "[0, 1]"),
        ("None, :2", "None, :2"),
        ("np.array([0, 1])", "i"),
        ("x > 0", "i"),
    ],
)
def test_an_assignment_names_the_replacement_for_that_very_index(
    transform: str, index: str, words: str
) -> None:
    kind = errors.InPlaceError
    f = assigned(f"x[{index}] = 1.0")
    refused(kind, lambda: under(transform, f, x3), f"x = x.at[{words}].set(v)", f"x[{words}] = v")
    if index == "x > 0" and transform in ("jit", "vmap", "checkpoint"):
        kind = errors.NonConcreteBooleanIndexError  # Python reads x[mask] before it assigns
        words = "mask"
    f = assigned(f"x[{index}] += 1.0")
    refused(kind, lambda: under(transform, f, x3), f"x.at[{words}].")


@under_each
@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("del x[0]", "fnp.delete"),
        ("x.fill(1.0)", "fnp.full_like"),
        ("x.put(0, 1.0)", ".at[i].set(v)"),
        ("x.resize((2,))", "fnp.resize"),
        ("np.add(x, 1.0, out=x)", "np.add"),
        ("np.add.at(x, 0, 1.0)", "np.add.at"),
        ("np.copyto(x, 1.0)", "np.copyto"),
        ("np.put(x, 0, 1.0)", "np.put"),
        ("np.fill_diagonal(x, 1.0)", "np.fill_diagonal"),
        ("fnp.sum(x, out=x)", "out="),
        ("fnp.put(x, 0, 1.0)", "put"),
    ],
)
def test_other_ways_to_write(transform: str, code: str, words: str) -> None:
    refused(errors.InPlaceError, lambda: under(transform, assigned(code), x3), words)


@pytest.mark.parametrize("transform", ["grad", "jit", "vmap", "jvp"])
@pytest.mark.parametrize(
    "code",
    ["y = np.zeros(3); y += x", "y = np.zeros(3); np.sin(x, out=y)", "np.copyto(np.zeros(3), x)"],
)
def test_writing_a_traced_value_into_a_plain_array(transform: str, code: str) -> None:
    refused(errors.InPlaceError, lambda: under(transform, assigned(code), x3), "traced value", "x")


def test_an_operator_in_place_rebinds_the_name() -> None:
    def f(x: Any) -> Any:
        x += 1.0
        return x

    assert np.array_equal(f(fnp.asarray(x3)), x3 + 1.0)
    assert np.array_equal(fgrad.jit(f)(x3), x3 + 1.0)


# ---- kinds of arrays -----------------------------------------------------------------------------


def unsupported() -> dict[str, tuple[Any, tuple[str, ...]]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        matrix = np.asmatrix([[1.0, 2.0]])
    return {
        "masked": (np.ma.array([1.0, 2.0], mask=[0, 1]), ("masked array", ".filled(")),
        "matrix": (matrix, ("np.matrix", "np.asarray(x)")),
        "strings": (np.array(["a", "b"]), ("<U1", "strings cannot be computed with")),
        "bytes": (np.array([b"a", b"b"]), ("S1", "strings cannot be computed with")),
        "string scalar": (np.str_("abc"), ("<U3", "strings cannot be computed with")),
        "dates": (np.array(["2020-01-01"], "datetime64[D]"), ("datetime64[D]", "np.timedelta64")),
        "date": (np.datetime64("2020-01-01"), ("datetime64[D]", "np.timedelta64")),
        "durations": (np.array([1], "timedelta64[s]"), ("timedelta64[s]", "np.timedelta64")),
        "records": (np.zeros(2, [("a", float), ("b", int)]), ("'a'", "x['field']")),
        "objects": (np.array([1, None], object), ("object", ".astype(float)")),
    }


def extended() -> dict[str, tuple[Any, tuple[str, ...]]]:
    if np.dtype(np.longdouble) == np.dtype(np.float64):
        return {}  # where the C compiler has no wider type
    return {
        "longdouble": (np.ones(2, np.longdouble), ("float", ".astype(np.float64)")),
        "clongdouble": (np.ones(2, np.clongdouble), ("complex", ".astype(np.complex128)")),
        "longdouble scalar": (np.longdouble(1.0), ("float", ".astype(np.float64)")),
    }


def of_libraries() -> dict[str, tuple[Any, tuple[str, ...]]]:
    import pandas as pd
    import scipy.sparse as sparse

    return {
        "Series": (pd.Series([1.0, 2.0]), ("pandas Series", ".to_numpy()")),
        "DataFrame": (pd.DataFrame({"a": [1.0]}), ("pandas DataFrame", ".to_numpy()")),
        "Index": (pd.Index([1.0, 2.0]), ("pandas Index", ".to_numpy()")),
        "csr_matrix": (sparse.csr_matrix(np.eye(2)), ("sparse csr_matrix", ".toarray()")),
        "coo_array": (sparse.coo_array(np.eye(2)), ("sparse coo_array", ".toarray()")),
    }


KINDS = {**unsupported(), **extended(), **of_libraries()}
each_kind = pytest.mark.parametrize("kind", sorted(KINDS))


def total(values: Any) -> Any:
    return fnp.sum(values) * 1.0


@each_kind
def test_a_kind_of_array_that_cannot_be_traced(kind: str) -> None:
    array, words = KINDS[kind]
    who = f"of total (test_errors_of_arrays.py:{total.__code__.co_firstlineno}): argument values"
    for name, call in {
        "grad": lambda: fgrad.grad(total)(array),
        "jit": lambda: fgrad.jit(total)(array),
        "vmap": lambda: fgrad.vmap(total)(array),
        "jvp": lambda: fgrad.jvp(total, (array,), (array,)),
        "vjp": lambda: fgrad.vjp(total, array),
        "jacfwd": lambda: fgrad.jacfwd(total)(array),
        "jacrev": lambda: fgrad.jacrev(total)(array),
        "checkpoint": lambda: fgrad.checkpoint(total)(array),
        "linearize": lambda: fgrad.linearize(total, array),
        "make_jaxpr": lambda: fgrad.make_jaxpr(total)(array),
    }.items():
        refused(errors.UnsupportedArrayError, call, f"{name} {who}", *words)
    nested = {"a": [1.0, array]}
    refused(
        errors.UnsupportedArrayError, lambda: fgrad.jit(total)(nested), "values['a'][1]", *words
    )


@each_kind
def test_a_kind_of_array_that_functions_refuse(kind: str) -> None:
    array, words = KINDS[kind]
    unsupported_array = errors.UnsupportedArrayError
    refused(unsupported_array, lambda: fnp.sin(array), "sin", *words)
    refused(unsupported_array, lambda: fnp.add(1.0, array), "add", *words)
    refused(unsupported_array, lambda: fnp.sum(array), "sum", *words)
    refused(unsupported_array, lambda: fnp.where(True, array, 1.0), "where", *words)
    refused(unsupported_array, lambda: fgrad.jit(lambda x: array)(1.0), "the result", *words)


@pytest.mark.parametrize("trace", [fgrad.grad, fgrad.jit])
@each_kind
def test_a_kind_of_array_beside_a_traced_value(kind: str, trace: Any) -> None:
    array, words = KINDS[kind]
    unsupported_array = errors.UnsupportedArrayError
    for operate in (lambda x: x + array, lambda x: x @ array, lambda x: x < array):
        refused(unsupported_array, lambda f=operate: trace(f)(x3[:2]), *words)
    # On the left, a class with operators of its own answers first: it converts, which is refused.
    for operate in (lambda x: array + x, lambda x: array @ x, lambda x: array > x):
        with pytest.raises(errors.FgradError) as caught:
            trace(operate)(x3[:2])
        kinds = (unsupported_array, errors.ConcretizationTypeError)
        assert isinstance(caught.value, kinds)
        assert_users_traceback(caught.value, __file__)


def test_other_byte_orders_are_converted() -> None:
    for order in "<>":
        floats = x3.astype(f"{order}f8")
        assert np.array_equal(fnp.asarray(floats), x3)
        assert fnp.asarray(floats).dtype.isnative
        assert np.array_equal(fnp.sin(floats), np.sin(x3))
        assert np.array_equal(fgrad.jit(lambda x: x * 2.0)(floats), x3 * 2.0)
        assert np.array_equal(fgrad.grad(lambda x: (x**2).sum())(floats), 2.0 * x3)
        assert np.array_equal(fgrad.vmap(lambda x: x + 1.0)(floats), x3 + 1.0)
        assert np.array_equal(fnp.ones(3) + np.arange(3).astype(f"{order}i4"), np.arange(3) + 1.0)
        assert fnp.asarray(np.arange(3).astype(f"{order}i4")).dtype == np.int32
        scalar = np.array(2.5, f"{order}f4")[()]
        assert fnp.asarray(scalar) == 2.5


def test_lists_are_taken_as_numpy_takes_them() -> None:
    for given in ([1, 2], [1, 2.5], [True, False], [1j, 2], [[1], [2]], [], [[], []], (1, 2)):
        ours, theirs = fnp.asarray(given), np.asarray(given)
        assert np.array_equal(ours, theirs)
        assert ours.dtype == theirs.dtype
        assert np.array_equal(fnp.sum(given), np.sum(given))
        assert np.array_equal(fnp.ones(()) + given, 1.0 + theirs)
    given = [1.0, 2.0, 3.0]
    assert np.array_equal(fgrad.jit(lambda x: given + x)(x3), 2.0 * x3)
    assert np.array_equal(fgrad.grad(lambda x: fnp.sum(fnp.array([x, x * x, 1.0])))(3.0), 7.0)
    refused(errors.ShapeError, lambda: fnp.asarray([[1.0], [1.0, 2.0]]), "array", "nested list")
    refused(errors.NonArrayError, lambda: fnp.asarray(["a"]), "array", "'a'")


def test_dtypes_that_a_function_is_not_defined_for() -> None:
    kind = errors.DTypeError
    refused(kind, lambda: fnp.bitwise_and(x3, 1), "bitwise_and", "float64", "int64")
    refused(kind, lambda: fnp.ones(3) & 1, "bitwise_and", "float64", "int64")
    refused(kind, lambda: ~fnp.ones(3), "invert", "float64")
    refused(kind, lambda: -fnp.array([True]), "negative", "bool")
    refused(kind, lambda: fnp.subtract(True, np.array([False])), "subtract", "bool")
    refused(kind, lambda: fgrad.jit(lambda x: fnp.floor(x))(1j), "floor", "complex128")
    refused(kind, lambda: fgrad.grad(lambda x: fnp.gcd(x, 2))(1.0), "gcd", "float64")
    refused(kind, lambda: fnp.zeros(3, "M8[s]"), "datetime64", "float64")
    refused(kind, lambda: fnp.ones(3).astype(object), "object")
    refused(kind, lambda: fnp.asarray(x3, "no dtype"), "no dtype")


# ---- tracebacks ----------------------------------------------------------------------------------


def inner(x: Any) -> Any:
    return fnp.dot(x, fnp.ones(4))


def outer(x: Any) -> Any:
    return inner(x * 2.0)


CALLS: dict[str, Callable[[], Any]] = {
    "eager": lambda: outer(fnp.ones(3)),
    "operator": lambda: fnp.ones(3) + fnp.ones(4),
    "method": lambda: fnp.ones(3).reshape(7),
    "property": lambda: fnp.ones(3).at[9:2:0].set(1.0),
    "getitem": lambda: fnp.ones(3)[7],
    "grad": lambda: fgrad.grad(outer)(x3),
    "jit": lambda: fgrad.jit(outer)(x3),
    "vmap": lambda: fgrad.vmap(outer)(np.ones((2, 3))),
    "jvp": lambda: fgrad.jvp(outer, (x3,), (x3,)),
    "vjp": lambda: fgrad.vjp(outer, x3),
    "pullback": lambda: fgrad.vjp(lambda x: x * 2.0, 1.0)[1](x3),
    "linearized": lambda: fgrad.linearize(lambda x: x * 2.0, 1.0)[1](x3),
    "transposed": lambda: fgrad.linear_transpose(lambda x: x * 2.0, 1.0)(x3),
    "hessian": lambda: fgrad.hessian(outer)(x3),
    "checkpoint": lambda: fgrad.grad(fgrad.checkpoint(outer))(x3),
    "nested": lambda: fgrad.jit(fgrad.vmap(fgrad.grad(outer)))(np.ones((2, 3))),
    "lower": lambda: fgrad.jit(outer).lower(x3),
    "make_jaxpr": lambda: fgrad.make_jaxpr(outer)(x3),
    "eval_shape": lambda: fgrad.eval_shape(outer, x3),
    "decorator": lambda: fgrad.grad(7),
    "lax": lambda: fgrad.lax.concatenate([fnp.ones(3), fnp.ones((3, 1))], 0),
    "nn": lambda: fgrad.nn.softmax(fnp.ones(3), axis=4),
    "linalg": lambda: fgrad.numpy.linalg.solve(fnp.ones((2, 3)), fnp.ones(2)),
    "tree": lambda: fgrad.tree.map(lambda a, b: a, [1], [1, 2]),
    "NumPy": lambda: fgrad.jit(lambda x: np.concatenate([x, x[None]]))(x3),
    "masked by NumPy": lambda: fgrad.jit(lambda n: np.zeros(n))(3),
}


@pytest.mark.parametrize("name", sorted(CALLS))
def test_no_frame_of_fgrad_is_left_in_a_traceback(name: str) -> None:
    with pytest.raises(errors.FgradError) as caught:
        CALLS[name]()
    frames = traceback.extract_tb(caught.value.__traceback__)
    last = assert_users_traceback(caught.value, __file__)
    assert frames[-1] == last
    assert f"{last.lineno} ({last.name})" in str(caught.value)


def test_the_last_line_is_where_the_user_called() -> None:
    for name in ("eager", "grad", "jit", "vmap", "jvp", "vjp", "nested", "make_jaxpr"):
        with pytest.raises(errors.ShapeError) as caught:
            CALLS[name]()
        last = traceback.extract_tb(caught.value.__traceback__)[-1]
        assert (last.name, last.lineno) == ("inner", inner.__code__.co_firstlineno + 1)


@pytest.mark.parametrize("name", sorted(set(CALLS) - {"masked by NumPy"}))
def test_all_frames_stay_if_filtering_is_off(name: str) -> None:
    fgrad.config.update("fgrad_traceback_filtering", "off")
    with pytest.raises(errors.FgradError) as caught:
        CALLS[name]()
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert is_of_fgrad(frames[-1].filename)
    assert any(f.filename == __file__ for f in frames)


def test_exceptions_of_users_pass_unchanged() -> None:
    class Stop(Exception):
        pass

    reason = Stop("words")

    def stops(x: Any) -> Any:
        raise reason

    for transform in (fgrad.grad, fgrad.jit, fgrad.vmap, fgrad.jacfwd, fgrad.checkpoint):
        with pytest.raises(Stop) as caught:
            transform(stops)(x3)
        assert caught.value is reason
        assert caught.value.args == ("words",)
        last = assert_users_traceback(caught.value, __file__)
        assert last.name == "stops"
        reason.__traceback__ = None


def test_what_an_error_was_raised_from_is_filtered_too() -> None:
    def careful(x: Any) -> Any:
        try:
            return fnp.dot(x, fnp.ones(4))
        except ValueError as error:
            raise KeyError("mine") from error

    with pytest.raises(KeyError) as caught:
        fgrad.grad(careful)(x3)
    cause = caught.value.__cause__
    assert isinstance(cause, errors.ShapeError)
    assert_users_traceback(cause, __file__)


def test_an_error_of_generated_code_names_the_line_that_it_came_from() -> None:
    def solve(a: Any) -> Any:
        b = a * 1.0
        return np.linalg.inv(b)

    compiled = fgrad.jit(solve)
    assert np.array_equal(compiled(np.eye(2)), np.eye(2))
    with pytest.raises(np.linalg.LinAlgError) as caught:
        compiled(np.zeros((2, 2)))
    place = f"test_errors_of_arrays.py:{solve.__code__.co_firstlineno + 2} (solve)"
    assert any(place in note for note in caught.value.__notes__)
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert not any(is_of_fgrad(f.filename) for f in frames)


def test_an_error_is_placed_once() -> None:
    with pytest.raises(errors.ShapeError) as caught:
        CALLS["nested"]()
    assert str(caught.value).count("test_errors_of_arrays.py:") == 1


def test_generated_code_is_known_to_linecache() -> None:
    executable = fgrad.jit(outer_fits).lower(x3).compile()
    assert executable(x3) == 12.0
    assert any(name.startswith("<fgrad jit") for name in linecache.cache)


def outer_fits(x: Any) -> Any:
    return fnp.dot(x, 2.0 * fnp.ones(3))


def public_modules() -> list[types.ModuleType]:
    """Every module of fgrad that another one exports."""
    found = [fgrad]
    for module in found:
        for name in module.__all__:
            inner = getattr(module, name)
            if isinstance(inner, types.ModuleType) and hasattr(inner, "__all__"):
                found.append(inner)
    return found


def public_functions() -> list[tuple[str, Any]]:
    return [
        (f"{module.__name__}.{name}", function)
        for module in public_modules()
        for name in module.__all__
        if isinstance(function := getattr(module, name), types.FunctionType)
    ]


def test_every_public_function_has_a_boundary() -> None:
    boundaries = vars(sys.modules["fgrad.source_info"])
    without = [name for name, f in public_functions() if f.__globals__ is not boundaries]
    assert set(without) <= {"fgrad.disable_jit"}
    assert len(public_functions()) > 500


def test_every_public_function_pickles_as_itself() -> None:
    foreign = []
    for name, function in public_functions():
        try:
            same = pickle.loads(pickle.dumps(function)) is function
        except pickle.PicklingError:
            same = False
        if not same:
            foreign.append(name)
    assert not foreign


def test_a_boundary_keeps_signature_name_and_document() -> None:
    assert list(inspect.signature(fnp.sum).parameters)[:2] == ["a", "axis"]
    assert fnp.sum.__name__ == "sum"
    assert fnp.sum.__module__ == "fgrad.numpy"
    assert fgrad.nn.relu.__module__ == "fgrad.nn"
    assert "Parameters" in (fnp.sum.__doc__ or "")
    assert fgrad.grad.__module__ == "fgrad.transforms.grad"


def test_an_update_that_others_call_does_not_warn() -> None:
    x = fnp.zeros(3)
    update = x.at[0]
    list(map(update.set, [1.0, 2.0]))
    fgrad.vmap(x.at[0].set)(fnp.ones(2))
    fgrad.jit(x.at[0].add)(2.0)
    fgrad.tree.map(x.at[0].set, [1.0, 2.0])
    x.at[0].set(1.0).sum()
    x.at[0].get()


@pytest.mark.parametrize("method", ["set", "mul", "apply", "max"])
def test_every_update_as_a_statement_warns(method: str) -> None:
    x = fnp.ones(3)
    with pytest.warns(UserWarning, match="as a statement has no effect"):
        exec(f"x.at[0].{method}({'fnp.sin' if method == 'apply' else 2.0})", {"x": x, "fnp": fnp})


@pytest.mark.parametrize("transform", [lambda f: f, fgrad.jit, fgrad.grad, fgrad.vmap])
def test_an_update_as_a_statement_warns(transform: Any) -> None:
    def f(x: Any) -> Any:
        x.at[0].set(1.0)
        changed = x.at[0].add(1.0)
        assert changed.shape == x.shape
        return changed.sum()

    x = fnp.ones((2, 2) if transform is fgrad.vmap else 2)
    with pytest.warns(UserWarning, match=r"as a statement has no effect.*\(f\)") as heard:
        transform(f)(x)
    assert len(heard) == 1
    assert heard[0].filename == __file__


MATRICES = {
    "inv": (fnp.linalg.inv, np.zeros((3, 3)), r"inv: the matrix of shape \(3, 3\) is singular"),
    "solve": (
        lambda a: fnp.linalg.solve(a, fnp.ones((2, 3, 1))),
        np.zeros((2, 3, 3)),
        r"solve: a matrix of the stack of shape \(2, 3, 3\) is singular",
    ),
    "gradient of solve": (
        fgrad.grad(lambda a: fnp.linalg.solve(a, fnp.ones(3)).sum()),
        np.zeros((3, 3)),
        r"solve: the matrix of shape \(3, 3\) is singular",
    ),
    "svd": (fnp.linalg.svd, np.full((2, 3), np.nan), r"svd: .* of shape \(2, 3\); NaN or infinite"),
    "eigh": (fnp.linalg.eigh, np.full((3, 3), np.nan), r"eigh: .* of shape \(3, 3\); NaN"),
    "cholesky": (fnp.linalg.cholesky, -np.eye(3), r"cholesky: the matrix of shape \(3, 3\) is not"),
}


@pytest.mark.parametrize("jit", [lambda f: f, fgrad.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("name", MATRICES)
def test_a_matrix_without_an_answer_is_told(name: str, jit: Any) -> None:
    function, matrix, message = MATRICES[name]
    with pytest.raises(np.linalg.LinAlgError, match=message) as caught:
        jit(function)(matrix)
    assert "Singular matrix" not in str(caught.value)


def test_a_number_beyond_every_integer_is_refused() -> None:
    with pytest.raises(OverflowError, match="out of bounds for int64"):
        fnp.asarray(10**20)
    assert fnp.add(fnp.ones(1), 10**20)[0] == 1e20


def test_a_histogram_without_edges_is_refused() -> None:
    with pytest.raises(errors.ArgumentError, match="bins= has no edges"):
        fnp.histogram(fnp.ones(3), ())
