"""Arrays of fgrad and traced values: operators, methods, weakness, safety, conversions, text."""

from __future__ import annotations

import copy
import operator
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fgrad
import fgrad.numpy as fnp
from fgrad import errors
from fgrad.tracing import Tracer

rng = np.random.default_rng(1)
X = rng.normal(size=(2, 3))
Y = rng.normal(size=(2, 3))
Z = X + 1j * Y
K = np.array([[1, 2, 3], [4, 5, 6]])
M = np.array([[True, False, True], [False, True, True]])

UNDER: dict[str, Callable[..., Any]] = {
    "eager": lambda f, *xs: f(*map(fnp.asarray, xs)),
    "jit": lambda f, *xs: fgrad.jit(f)(*xs),
    "vmap": lambda f, *xs: fgrad.vmap(f)(*[np.stack([x, x]) for x in xs])[0],
    "jvp": lambda f, *xs: fgrad.jvp(f, xs, tuple(map(direction, xs)))[0],
    "vjp": lambda f, *xs: fgrad.vjp(f, *xs)[0],
}
under = pytest.mark.parametrize("how", UNDER)


def direction(x: Any) -> Any:
    x = np.asarray(x)
    return np.ones_like(x) if x.dtype.kind in "fc" else np.zeros(x.shape, fgrad.float0)


def same(got: Any, want: Any) -> None:
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want)
        for left, right in zip(got, want, strict=True):
            same(left, right)
        return
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


# ---- operators -----------------------------------------------------------------------------------

BINARY: dict[str, tuple[Callable[[Any, Any], Any], Any, Any]] = {
    "+": (operator.add, X, Y),
    "-": (operator.sub, X, Y),
    "*": (operator.mul, X, Y),
    "/": (operator.truediv, X, Y),
    "//": (operator.floordiv, X, Y),
    "%": (operator.mod, X, Y),
    "**": (operator.pow, np.abs(X), Y),
    "@": (operator.matmul, X, Y.T.copy()),
    "divmod": (divmod, X, np.abs(Y)),
    "&": (operator.and_, K, K + 1),
    "|": (operator.or_, M, ~M),
    "^": (operator.xor, K, K + 1),
    "<<": (operator.lshift, K, K),
    ">>": (operator.rshift, K, K),
    "==": (operator.eq, K, K.T.reshape(2, 3)),
    "!=": (operator.ne, X, Y),
    "<": (operator.lt, X, Y),
    "<=": (operator.le, X, Y),
    ">": (operator.gt, X, Y),
    ">=": (operator.ge, X, Y),
}


@under
@pytest.mark.parametrize("name", BINARY)
def test_binary_operators(name: str, how: str) -> None:
    apply, x, y = BINARY[name]
    run = UNDER[how]
    if name == "divmod":
        for place in (0, 1):
            same(run(lambda a, b, i=place: divmod(a, b)[i], x, y), divmod(x, y)[place])
            same(run(lambda b, i=place: divmod(x, b)[i], y), divmod(x, y)[place])
            same(run(lambda b, i=place: divmod(7, b)[i], np.abs(y)), divmod(7, np.abs(y))[place])
        return
    same(run(apply, x, y), apply(x, y))
    same(run(lambda a: apply(a, y), x), apply(x, y))
    same(run(lambda b: apply(x, b), y), apply(x, y))
    if name == "@":
        return
    number = 2 if x.dtype.kind in "ib" else 2.5
    if x.dtype.kind == "b":
        number = True
    same(run(lambda b: apply(number, b), y), apply(number, y))
    same(run(lambda a: apply(a, number), x), apply(x, number))
    same(run(lambda a: apply(a, x[0].tolist()), x), apply(x, x[0]))
    same(run(lambda b: apply(x[0].tolist(), b), y), apply(x[0], y))


@under
def test_unary_operators(how: str) -> None:
    run = UNDER[how]
    for apply in (operator.neg, operator.pos, operator.abs):
        same(run(apply, X), apply(X))
        same(run(apply, Z), apply(Z))
    same(run(operator.invert, K), ~K)
    same(run(operator.invert, M), ~M)
    same(run(lambda x: round(x, 1), X), np.round(X, 1))
    same(run(round, X), np.round(X))


IN_PLACE = [
    operator.iadd,
    operator.isub,
    operator.imul,
    operator.itruediv,
    operator.ifloordiv,
    operator.imod,
    operator.ipow,
    operator.iand,
    operator.ior,
    operator.ixor,
    operator.ilshift,
    operator.irshift,
    operator.imatmul,
]


@pytest.mark.parametrize("apply", IN_PLACE)
@under
def test_in_place_operators_bind_a_new_array(apply: Callable[[Any, Any], Any], how: str) -> None:
    plain = np.array([[3, 1], [2, 5]])
    want = getattr(
        operator, apply.__name__[1:] + ("_" if apply.__name__ in ("iand", "ior") else "")
    )(plain, plain)

    def f(x: Any) -> Any:
        before = x
        y = apply(x, x)
        assert y is not before
        return y

    same(UNDER[how](f, plain), want)
    x = fnp.asarray(plain)
    y = x
    y = apply(y, plain)
    np.testing.assert_array_equal(x, plain)
    assert isinstance(y, fgrad.Array)


def test_an_operator_leaves_others_their_answer() -> None:
    class Answers:
        def __radd__(self, other: Any) -> str:
            return "mine"

    assert fnp.ones(2) + Answers() == "mine"
    for other in (None, object(), {}):
        with pytest.raises(TypeError):
            fnp.ones(2) + other
        with pytest.raises(TypeError):
            fgrad.jit(lambda x, o=other: o * x)(1.0)


# ---- promotion of weak values --------------------------------------------------------------------

DTYPES = "bool int8 uint8 int32 int64 float16 float32 float64 complex64 complex128".split()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("number", [True, 2, 2.5, 2j])
@pytest.mark.parametrize("apply", [operator.add, operator.mul, operator.truediv, operator.eq])
def test_a_weak_array_promotes_as_its_number(dtype: str, number: Any, apply: Any) -> None:
    x = np.array([1, 0, 1], dtype)
    want = apply(x, number).dtype
    weak = fnp.asarray(number)
    assert weak.weak_type
    for got in (
        apply(fnp.asarray(x), number),
        apply(fnp.asarray(x), weak),
        apply(x, weak),
        fgrad.jit(apply)(x, number),
        fgrad.jit(apply)(x, weak),
        fgrad.vmap(apply, (0, None))(x, number),
        apply(weak, fnp.asarray(x))
        if apply is not operator.truediv
        else apply(fnp.asarray(x), weak),
    ):
        assert got.dtype == want
        assert not got.weak_type


def test_weak_operands_give_weak_results() -> None:
    def f(x: Any) -> Any:
        y = fnp.sqrt(x * 2.0) + fnp.sum(x) - fnp.where(x > 0, x, 1.0)
        return fnp.reshape(y, ()) + fnp.einsum(",", x, x) + fnp.dot(x, x) + fnp.maximum(x, 3)

    for got in (
        f(fnp.asarray(2.0)),
        fgrad.jit(f)(2.0),
        fgrad.grad(f)(2.0),
        fgrad.jvp(f, (2.0,), (1.0,))[1],
        fgrad.value_and_grad(fgrad.jit(f))(2.0)[0],
    ):
        assert got.weak_type
        assert got.dtype == np.float64
        assert (got * np.ones(2, "float32")).dtype == np.float32
    assert not fgrad.jit(f)(np.float64(2.0)).weak_type


@pytest.mark.parametrize("compiled", [False, True])
def test_a_float32_model_stays_float32(compiled: bool) -> None:
    def loss(params: Any, x: Any, y: Any) -> Any:
        hidden = fnp.tanh(x @ params["w"] / fnp.sqrt(x.shape[1]) + params["b"])
        hidden = fnp.concatenate([hidden, fnp.ones_like(hidden[:, :1])], axis=1)
        return fnp.mean((hidden.sum(axis=1) - y) ** 2) + 1e-3 * fnp.sum(params["w"] ** 2)

    step = fgrad.grad(loss)
    step = fgrad.jit(step) if compiled else step
    x, y = np.ones((5, 3), "float32"), np.ones(5, "float32")
    params: Any = {"w": fnp.ones((3, 4), "float32"), "b": 0.0}
    for _ in range(3):
        gradient = step(params, x, y)
        assert gradient["w"].dtype == np.float32
        assert gradient["b"].weak_type
        params = {name: params[name] - 0.1 * gradient[name] for name in params}
        assert params["w"].dtype == np.float32
        assert loss(params, x, y).dtype == np.float32


def test_python_integers_overflow_as_in_numpy() -> None:
    x = np.ones(2, np.int8)
    for run in (
        lambda: fnp.asarray(x) + 300,
        lambda: fgrad.jit(operator.add)(x, 300),
        lambda: x + fnp.asarray(300),
    ):
        with pytest.raises(OverflowError):
            run()


# ---- methods and attributes ----------------------------------------------------------------------

METHODS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "all": (lambda x: x.all(axis=0), M),
    "any": (lambda x: x.any(keepdims=True), M),
    "argmax": (lambda x: x.argmax(axis=1), X),
    "argmin": (lambda x: x.argmin(), X),
    "argpartition": (lambda x: x.argpartition(1, axis=1).shape, X),
    "argsort": (lambda x: x.argsort(axis=-1), X),
    "astype": (lambda x: x.astype("float32"), X),
    "choose": (lambda x: x.choose([10.0, 20.0, 30.0]), np.array([2, 0, 1])),
    "clip": (lambda x: x.clip(-0.5, 0.5), X),
    "clip max": (lambda x: x.clip(max=0.5), X),
    "compress": (lambda x: x.compress([True, False, True], axis=1), X),
    "conj": (lambda x: x.conj(), Z),
    "conjugate": (lambda x: x.conjugate(), Z),
    "cumprod": (lambda x: x.cumprod(axis=0), X),
    "cumsum": (lambda x: x.cumsum(), X),
    "diagonal": (lambda x: x.diagonal(1), X),
    "dot": (lambda x: x.dot(x.T), X),
    "flatten": (lambda x: x.flatten(), X),
    "flatten F": (lambda x: x.flatten("F"), X),
    "max": (lambda x: x.max(axis=1, keepdims=True), X),
    "max initial": (lambda x: x.max(initial=5.0), X),
    "mean": (lambda x: x.mean(axis=(0, 1)), X),
    "min": (lambda x: x.min(), X),
    "nonzero": (lambda x: tuple(x.nonzero()), K),
    "partition": (lambda x: x, X),
    "prod": (lambda x: x.prod(axis=-1), X),
    "ravel": (lambda x: x.ravel(order="F"), X),
    "repeat": (lambda x: x.repeat(2, axis=1), X),
    "reshape": (lambda x: x.reshape(3, -1), X),
    "reshape tuple": (lambda x: x.reshape((3, 2), order="F"), X),
    "round": (lambda x: x.round(2), X),
    "searchsorted": (lambda x: x.searchsorted(np.array([0.5, 2.5])), np.arange(4.0)),
    "squeeze": (lambda x: x[None].squeeze(axis=0), X),
    "std": (lambda x: x.std(axis=0, ddof=1), X),
    "sum": (lambda x: x.sum(0), X),
    "sum where": (lambda x: x.sum(axis=1, where=M, initial=1.0), X),
    "swapaxes": (lambda x: x.swapaxes(0, 1), X),
    "take": (lambda x: x.take([2, 0], axis=1), X),
    "trace": (lambda x: x.trace(), X),
    "transpose": (lambda x: x[None].transpose(1, 2, 0), X),
    "transpose tuple": (lambda x: x[None].transpose((2, 0, 1)), X),
    "transpose none": (lambda x: x.transpose(), X),
    "var": (lambda x: x.var(axis=1), X),
    "T": (lambda x: x.T, X),
    "mT": (lambda x: x[None].mT, X),
    "real": (lambda x: x.real, Z),
    "imag": (lambda x: x.imag, Z),
    "imag of real": (lambda x: x.imag, X),
    "flat": (lambda x: np.asarray(x.flat) if isinstance(x, np.ndarray) else x.flat, X),
    "copy": (lambda x: x.copy(), X),
    "iterate": (lambda x: [row * 2 for row in x], X),
    "unpack": (lambda x: x[0] - x[1], X),
    "index": (lambda x: (x[1], x[..., -1], x[:, ::2], x[None, 0], x[np.array([0, 0])]), X),
}


@under
@pytest.mark.parametrize("name", METHODS)
def test_methods_are_those_of_numpy(name: str, how: str) -> None:
    call, x = METHODS[name]
    if name == "nonzero" and how in ("jit", "vmap"):
        with pytest.raises(errors.ConcretizationTypeError):
            UNDER[how](call, x)
        return
    want = call(x)
    if isinstance(want, tuple) and all(isinstance(n, int) for n in want):
        seen: list[Any] = []
        UNDER[how](lambda v: seen.append(call(v)) or v, x)
        assert seen == [want]
        return
    results = want if isinstance(want, (tuple, list)) else [want]
    for place, each in enumerate(results):

        def one(v: Any, place: int = place) -> Any:
            found = call(v)
            return found[place] if isinstance(want, (tuple, list)) else found

        same(UNDER[how](one, x), each)


def test_sorting_methods_return_their_result() -> None:
    x = fnp.asarray(X)
    same(x.sort(axis=1), np.sort(X, axis=1))
    same(x.partition(1, axis=1)[:, 1], np.partition(X, 1, axis=1)[:, 1])
    assert float(x.ptp()) == np.ptp(X)
    np.testing.assert_array_equal(x, X)


#: What JAX's arrays have, used by public programs (usage.tsv): all of it on arrays and on tracers.
ATTRIBUTES = """
shape dtype ndim size nbytes itemsize T mT at real imag flat aval weak_type device devices sharding
addressable_shards addressable_data is_fully_addressable is_fully_replicated is_deleted delete
copy_to_host_async block_until_ready astype reshape flatten transpose copy item tolist tobytes view
to_device all any argmax argmin argpartition argsort choose clip compress conj conjugate cumprod cumsum
diagonal dot max mean min nonzero partition prod ptp ravel repeat round searchsorted sort squeeze std sum
swapaxes take trace var __array_namespace__
""".split()
UPDATES = "set add subtract multiply mul divide power min max apply get".split()


@under
def test_arrays_and_traced_values_have_the_same_attributes(how: str) -> None:
    def f(x: Any) -> Any:
        for name in ATTRIBUTES:
            assert hasattr(x, name), name
        for name in UPDATES:
            assert hasattr(x.at[0], name), name
        assert (x.shape, x.dtype, x.ndim, x.size) == ((2, 3), np.float64, 2, 6)
        assert (x.nbytes, x.itemsize, len(x)) == (48, 8, 2)
        assert x.block_until_ready() is x
        assert x.addressable_shards[0].data is x
        assert x.addressable_data(0) is x
        assert x.devices() == {x.device}
        assert x.__array_namespace__() is fnp
        assert x.to_device("cpu") is x
        assert x.aval.shape == x.shape
        assert x.view() is not None
        assert not x.weak_type
        assert 3.5 not in fnp.zeros(2)
        return x + 1.0

    same(UNDER[how](f, X), X + 1.0)


LAYOUT = ("base", "byteswap", "ctypes", "data", "flags", "getfield", "strides")


@pytest.mark.parametrize("name", sorted(n for n in dir(np.ndarray) if not n.startswith("_")))
def test_traced_values_have_every_attribute_that_means_something_for_them(name: str) -> None:
    def f(x: Any) -> Any:
        assert hasattr(x, name) == (name not in LAYOUT)
        if name in LAYOUT:
            words = rf"x\.{name} .*float64.*\(2, 2\).*test_array\.py:\d+.*; \w+"
            with pytest.raises(errors.MemoryLayoutError, match=words):
                getattr(x, name)
        return x.sum()

    assert hasattr(fnp.ones((2, 2)), name)
    fgrad.grad(f)(np.ones((2, 2)))
    fgrad.jit(f)(np.ones((2, 2)))


def test_an_unknown_attribute_hints_at_a_function() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'tanh'; use fgrad.numpy.tanh\(x\)"):
        fgrad.jit(lambda x: x.tanh())(1.0)
    with pytest.raises(AttributeError, match="'numpy'"):
        fgrad.jit(lambda x: x.numpy())(1.0)
    with pytest.raises(errors.ArgumentError, match="astype"):
        fgrad.jit(lambda x: x.view("int64"))(1.0)


# ---- safety ------------------------------------------------------------------------------------


def results() -> dict[str, Any]:
    x = fnp.arange(6.0).reshape(2, 3)
    return {
        "created": x,
        "computed": x * 2.0,
        "view": x[0],
        "transposed": x.T,
        "number": fnp.sum(x),
        "weak": fnp.asarray(2.0),
        "gradient": fgrad.grad(lambda v: fnp.sum(v**2))(X),
        "compiled": fgrad.jit(lambda v: v + 1.0)(X),
        "argument": fgrad.jit(lambda v: v)(X),
        "mapped": fgrad.vmap(lambda v: v)(X),
        "of the caller": fnp.asarray(X),
        "slice of the caller": fnp.asarray(X)[0],
        "imaginary": fnp.imag(X),
        "empty": fnp.zeros((0, 3)),
    }


@pytest.mark.parametrize("name", results())
def test_results_are_read_only_arrays(name: str) -> None:
    x = results()[name]
    assert type(x) is fgrad.Array
    assert isinstance(x, np.ndarray)
    kept = (x, copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x)), x.copy())
    assert all(array.weak_type == x.weak_type for array in kept)
    for array in (*kept, x.view()):
        assert type(array) is fgrad.Array
        same(array, x)
        assert not array.flags.writeable
        base: Any = array
        while isinstance(base, np.ndarray):
            assert not base.flags.writeable
            base = base.base
        with pytest.raises(errors.InPlaceError, match="do not change in place"):
            array[...] = 1.0
        with pytest.raises(errors.InPlaceError, match=r"\.at\[0\]\.set"):
            array[0] = 1.0
        with pytest.raises(errors.InPlaceError):
            del array[0]
        for change in (array.fill, array.resize):
            with pytest.raises(errors.InPlaceError):
                change(1)
        with pytest.raises(errors.InPlaceError, match="reshape"):
            array.shape = (array.size, 1)
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.setflags(write=True)
        with pytest.raises(ValueError, match="read-only"):
            np.asarray(array)[...] = 1.0
    assert not np.shares_memory(x, X)
    plain = np.array(x)
    assert type(plain) is np.ndarray
    assert plain.flags.writeable


def test_the_words_of_an_assignment_name_its_index() -> None:
    x = fnp.zeros((4, 4))
    for index, words in (
        (0, "x.at[0].set(v)"),
        ((slice(1, None), ..., 2), "x.at[1:, ..., 2].set(v)"),
        (slice(None, None, -1), "x.at[::-1].set(v)"),
        (np.array([0, 1]), "x.at[i].set(v)"),
        ((None, slice(0, 2)), "x.at[None, 0:2].set(v)"),
    ):
        with pytest.raises(errors.InPlaceError) as caught:
            x[index] = 1.0
        assert words in str(caught.value)


def test_dictionaries_and_sets_refuse_arrays() -> None:
    for x in (fnp.ones(()), fnp.ones(2)):
        with pytest.raises(TypeError):
            hash(x)
    with pytest.raises(TypeError):
        fgrad.jit(lambda x: {x: 1})(1.0)


# ---- conversions and text --------------------------------------------------------------------------


def test_arrays_convert_to_numbers() -> None:
    x = fnp.asarray(np.float64(2.5))
    assert (float(x), int(x), complex(x), bool(x)) == (2.5, 2, 2.5 + 0j, True)
    assert [10, 20, 30][fnp.asarray(1)] == 20
    assert list(range(fnp.sum(fnp.array([1, 2])))) == [0, 1, 2]
    assert (x.item(), x.tolist(), f"{x:.1f}", fnp.array([1, 2]).tolist()) == (
        2.5,
        2.5,
        "2.5",
        [1, 2],
    )
    assert fnp.asarray(X).item(1, 2) == X[1, 2]
    with pytest.raises(ValueError, match="ambiguous"):
        bool(fnp.ones(2))
    for run in (len, iter):
        with pytest.raises(TypeError, match="0-d"):
            run(fnp.ones(()))


def test_traced_values_say_why_they_do_not_convert() -> None:
    with pytest.raises(errors.ShapeError, match="ambiguous"):
        fgrad.grad(lambda x: 1.0 if x else 2.0)(np.ones(2))
    with pytest.raises(errors.ShapeError, match="3 elements"):
        fgrad.jit(lambda x: x.item())(np.ones(3))
    with pytest.raises(errors.IndexTypeError, match="integer is needed"):
        fgrad.grad(lambda x: [1.0, 2.0][x])(1.0)
    with pytest.raises(errors.TracerIntegerConversionError, match="static_argnums"):
        fgrad.jit(lambda n: fnp.ones(3) * sum(range(n)))(3)
    for run in (len, iter):
        with pytest.raises(TypeError, match="0-d"):
            fgrad.jit(lambda x, run=run: run(x))(1.0)


def test_known_creations_inside_jit_convert() -> None:
    def f(x: Any) -> Any:
        large = fnp.arange(5000)
        assert isinstance(large, Tracer)
        return x * np.asarray(fnp.ones(3)).sum() + np.asarray(large)[-1]

    assert float(fgrad.jit(f)(2.0)) == 5005.0


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (fnp.array([1.0, 2.5]), "Array([1. , 2.5], dtype=float64)"),
        (fnp.asarray(2), "Array(2, dtype=int64, weak_type=True)"),
        (fnp.zeros((0, 2), "float32"), "Array([], shape=(0, 2), dtype=float32)"),
    ],
)
def test_repr_shows_what_an_array_is(x: Any, text: str) -> None:
    assert repr(x) == text
    assert str(x) == str(np.asarray(x))


def test_text_of_traced_values() -> None:
    seen: dict[str, str] = {}

    def f(x: Any) -> Any:
        seen[how] = f"{x} {x!r} {x[0]:.3f}"
        return fnp.sum(x)

    how = "grad"
    fgrad.grad(f)(np.array([1.25, 2.0]))
    how = "jit"
    fgrad.jit(f)(np.array([1.25, 2.0]))
    assert "1.25" in seen["grad"]
    assert "1.250" in seen["grad"]
    assert "grad of f" in seen["grad"]
    assert "jit of f" in seen["jit"]


def test_a_finished_trace_still_prints() -> None:
    kept: list[Any] = []

    def f(x: Any) -> Any:
        kept.append(x * 2.0)
        return x

    fgrad.grad(f)(1.0)
    assert "Traced" in repr(kept[0])
    with pytest.raises(errors.LeakedTracerError, match="return it"):
        kept[0] + 1.0


# ---- round trips -----------------------------------------------------------------------------------


@given(
    st.sampled_from(DTYPES),
    st.lists(st.integers(0, 3), max_size=3),
    st.sampled_from(["C", "F", "reversed", "big endian", "list", "buffer"]),
)
def test_any_plain_array_comes_in_and_goes_out(dtype: str, shape: list[int], form: str) -> None:
    plain = rng.integers(0, 2, shape).astype(dtype)
    given_ = {
        "C": plain,
        "F": plain.copy("F"),
        "reversed": plain[..., ::-1][..., ::-1] if plain.ndim else plain,
        "big endian": plain.astype(plain.dtype.newbyteorder(">")),
        "list": plain.tolist() if plain.size else plain,
        "buffer": plain.copy(),
    }[form]
    got = fnp.asarray(given_, dtype)
    same(got, plain)
    same(pickle.loads(pickle.dumps(got)), plain)
    same(fgrad.jit(lambda x: x)(got), plain)
    assert got.dtype.isnative


# ---- calls on arrays, which run NumPy's function at once -----------------------------------------

CALLS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "sin": (lambda x, y: fnp.sin(x), lambda x, y: np.sin(x)),
    "add": (lambda x, y: fnp.add(x, y), lambda x, y: np.add(x, y)),
    "minus": (lambda x, y: x - y, lambda x, y: x - y),
    "reflected": (lambda x, y: 2 - x, lambda x, y: 2 - x),
    "power": (lambda x, y: x**y, lambda x, y: x**y),
    "square": (lambda x, y: x**2, lambda x, y: x**2),
    "power of a number": (lambda x, y: 2**x, lambda x, y: 2**x),
    "product": (lambda x, y: x @ y, lambda x, y: x @ y),
    "matmul": (lambda x, y: fnp.matmul(x, y), lambda x, y: np.matmul(x, y)),
    "dot": (lambda x, y: fnp.dot(x, y), lambda x, y: np.dot(x, y)),
    "where": (lambda x, y: fnp.where(x > y, x, y), lambda x, y: np.where(x > y, x, y)),
    "where with a number": (
        lambda x, y: fnp.where(x > y, x, 0.5),
        lambda x, y: np.where(x > y, x, np.asarray(0.5, np.result_type(x, 0.5))),
    ),
    "concatenate": (lambda x, y: fnp.concatenate([x, y], 0), lambda x, y: np.concatenate([x, y])),
    "stack": (lambda x, y: fnp.stack([x, y], -1), lambda x, y: np.stack([x, y], -1)),
}
DTYPES = ("bool", "uint8", "int32", "int64", "float16", "float32", "float64", "complex64")
CASES = [(name, dtype, other) for name in CALLS for dtype in DTYPES for other in DTYPES]


@pytest.mark.parametrize(("name", "dtype", "other"), CASES)
def test_a_call_on_arrays_is_that_of_numpy_and_that_of_a_trace(
    name: str, dtype: str, other: str
) -> None:
    ours, numpys = CALLS[name]
    x, y = np.array([[1, 0], [1, 1]], dtype), np.array([[1, 1], [0, 1]], other)
    try:
        expected = numpys(x, y)
    except (TypeError, np.exceptions.DTypePromotionError):
        with pytest.raises(errors.DTypeError):
            ours(fnp.asarray(x), fnp.asarray(y))
        return
    eager = ours(fnp.asarray(x), fnp.asarray(y))
    compiled = fgrad.jit(ours)(x, y)
    for result in (eager, compiled):
        assert type(result) is fgrad.Array
        assert result.dtype == expected.dtype
        assert not result.flags.writeable
        np.testing.assert_allclose(result, expected, rtol=1e-3 if "16" in dtype + other else 1e-6)


@pytest.mark.parametrize("name", CALLS)
def test_a_call_on_a_view_that_numpy_made(name: str) -> None:
    ours, numpys = CALLS[name]
    whole = fnp.asarray(np.arange(8.0).reshape(2, 4))
    # NumPy gives views of its own class, which have no plain array inside as yet.
    left, right = np.ndarray.__getitem__(whole, np.s_[:, :2]), np.ndarray.swapaxes(whole, 0, 1)[:2]
    assert type(left) is fgrad.Array
    np.testing.assert_allclose(
        ours(left, right), numpys(np.asarray(left), np.asarray(right)), rtol=1e-12
    )


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: fnp.add(x, fnp.ones(4)), r"add: operands of shapes \(2, 3\) and \(4,\)"),
        (lambda x: x * fnp.ones(4), r"multiply: operands of shapes \(2, 3\) and \(4,\)"),
        (lambda x: x @ x, r"matmul: shapes \(2, 3\) and \(2, 3\) do not fit"),
        (lambda x: fnp.dot(x, x), r"dot: shapes \(2, 3\) and \(2, 3\) do not fit"),
        (lambda x: fnp.where(x > 0, x, fnp.ones(4)), r"where: operands of shapes"),
        (lambda x: fnp.concatenate([x, fnp.ones(4)]), r"concatenate: shapes .* differ"),
        (lambda x: fnp.concatenate([x, x], 2), r"concatenate: axis 2 is out of range"),
        (lambda x: fnp.stack([x, fnp.ones(4)]), r"stack: all arrays must have one shape"),
        (lambda x: fnp.bitwise_and(x, x), r"bitwise_and is not defined for float64"),
        (lambda x: ~x, r"invert is not defined for float64"),
    ],
)
def test_an_error_of_a_call_on_arrays_is_in_the_users_words(
    call: Callable[[Any], Any], words: str
) -> None:
    with pytest.raises(errors.FgradError, match=words + r".*test_array\.py:\d+"):
        call(fnp.asarray(X))


def test_flags_hold_for_calls_on_arrays() -> None:
    x = fnp.asarray(np.array([1, 2], np.int32))
    with fgrad.enable_x64(False):
        assert fnp.true_divide(x, x).dtype == np.float32
        assert fnp.stack([x, x]).dtype == np.int32
        assert (x @ x).dtype == np.int32
        assert fnp.concatenate([x, fnp.ones(1)]).dtype == np.float32
    assert fnp.true_divide(x, x).dtype == np.float64
    with fgrad.debug_nans(), np.errstate(invalid="ignore"):
        for call in (
            fnp.log,
            lambda x: x * np.inf - x * np.inf,
            lambda x: fnp.where(x < 0, fnp.nan * x, x),
        ):
            with pytest.raises(errors.NanError):
                call(fnp.asarray([-1.0]))
    assert np.isnan(fnp.asarray([1.0]) * np.nan).all()


def test_arithmetic_of_scalars_heeds_the_callers_errstate() -> None:
    one, zero = fnp.asarray(1.0), fnp.asarray(np.float64(0.0))
    strong = fnp.sum(fnp.ones(1))
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        strong / zero
    with np.errstate(divide="ignore"):
        assert np.isinf(strong / zero)
        assert (strong / 4.0).dtype == np.float64
        assert not (strong + 1.0).weak_type
        assert (one + 1.0).weak_type
    # A cotangent of zero absorbs an infinite slope, of numbers too.
    gradient = fgrad.grad(lambda x: fnp.where(x.sum() > -1.0, x.sum(), fnp.sqrt(x.sum())))
    assert gradient(np.zeros(1))[0] == 1.0


def test_flat_gives_numbers_and_does_not_write() -> None:
    x = fnp.arange(4.0).reshape(2, 2)
    assert [type(v) for v in x.flat] == [np.float64] * 4
    assert x.flat[3] == 3.0
    with pytest.raises(ValueError, match="read-only"):
        x.flat[0] = 1.0
    assert pytest.approx([0.0, 1.0, 2.0, 3.0]) == x.ravel()
    assert pytest.approx(2.0) == fnp.array(2.0)
