"""Exported modules: they run where fgrad cannot be imported, and give the same bits."""

from __future__ import annotations

import ast
import collections
import importlib.util
import pickle
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import samples
from support.draws import Draw, NotApplicable
from test_laws import REGISTRY, function_of

import fgrad
import fgrad.numpy as fnp
from fgrad.errors import ArgumentError, ExportError

SAMPLES_PER_PRIMITIVE = 1
#: Runs every module of a folder on its arguments, with fgrad out of reach, and keeps the results.
RUNNER = """
import importlib.util, pickle, sys
import numpy as np

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("fgrad", "optree", "jax"):
            raise ImportError(f"{name} is blocked")

sys.meta_path.insert(0, Blocked())
with open(sys.argv[1], "rb") as file:
    cases = pickle.load(file)
results = []
with np.errstate(all="ignore"):
    for path, name, args in cases:
        spec = importlib.util.spec_from_file_location("exported", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        results.append(getattr(module, name)(*args))
assert not any(name.partition(".")[0] in ("fgrad", "optree") for name in sys.modules)
with open(sys.argv[2], "wb") as file:
    pickle.dump(results, file)
"""


def run_apart(cases: list[tuple[Path, str, tuple[Any, ...]]], folder: Path) -> list[Any]:
    """The results of exported functions in a process that cannot import fgrad."""
    given, found = folder / "cases.pkl", folder / "results.pkl"
    given.write_bytes(pickle.dumps([(str(path), name, args) for path, name, args in cases]))
    command = [sys.executable, "-c", RUNNER, str(given), str(found)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return pickle.loads(found.read_bytes())


def assert_same_bits(got: Any, expected: Any, what: str) -> None:
    if isinstance(expected, dict):
        assert isinstance(got, dict), what
        assert list(got) == list(expected), what
        for key in expected:
            assert_same_bits(got[key], expected[key], f"{what}[{key!r}]")
    elif isinstance(expected, list | tuple):
        assert isinstance(got, list | tuple), what
        assert len(got) == len(expected), what
        for i, (a, b) in enumerate(zip(got, expected, strict=True)):
            assert_same_bits(a, b, f"{what}[{i}]")
    elif expected is None:
        assert got is None, what
    else:
        a, b = np.asarray(got), np.asarray(expected)
        assert (a.dtype, a.shape) == (b.dtype, b.shape), what
        if a.dtype.kind in "fc":
            # The payload of a NaN is nobody's.
            same = (a == b) & (np.signbit(a.real) == np.signbit(b.real)) | (
                np.isnan(a) & np.isnan(b)
            )
            assert same.all(), what
        else:
            assert a.tobytes() == b.tobytes(), what


def imported(text: str) -> set[str]:
    """The top-level packages that a module imports."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").partition(".")[0])
    return found


def load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location("exported", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def plain(values: Any) -> Any:
    """Arrays that pickle without fgrad."""
    return tuple(
        [v if isinstance(v, bool | int | float | complex) else np.array(v)[()] for v in values]
    )


def test_every_primitive(tmp_path: Path) -> None:
    cases, expected, names = [], [], []
    for name in REGISTRY:
        written = 0
        for seed in range(12):
            chooser = random.Random(seed)
            try:
                sample = samples.MAKERS[name](Draw(lambda a, b, c=chooser: c.randint(a, b)))
            except NotApplicable:
                continue
            f = function_of(sample.primitive)
            operands = plain(sample.operands)
            with np.errstate(all="ignore"):
                expected.append(fgrad.jit(f)(*operands))
            f.__name__ = "f"
            path = fgrad.export(f, *operands, path=tmp_path / f"m{len(cases)}.py")
            assert imported(path.read_text()) <= {"numpy", "scipy", *sys.stdlib_module_names}
            cases.append((path, "f", operands))
            names.append(name)
            written += 1
            if written == SAMPLES_PER_PRIMITIVE:
                break
        assert written, name
    results = run_apart(cases, tmp_path)
    for got, wanted, name in zip(results, expected, names, strict=True):
        assert_same_bits(got, [np.asarray(w) for w in wanted], name)


# ---- whole programs ------------------------------------------------------------------------------

rng = np.random.default_rng(3)
TABLE = rng.standard_normal((40, 5))
Pair = collections.namedtuple("Pair", "first second")


def network(params: Any, x: Any, y: Any) -> Any:
    hidden = fnp.tanh(x @ params["w"] + params["b"])
    return fnp.mean((hidden @ params["out"] - y) ** 2)


def norms(x: Any) -> Any:
    # At the origin the guarded program takes over.
    return fnp.sum(fnp.sqrt(fnp.sum(x**2, axis=1)) * fnp.array([0.0, 1.0, 2.0]))


def attention(q: Any, k: Any, v: Any) -> Any:
    return fgrad.nn.softmax(q @ k.T / 2.0) @ v


def recurrence(w: Any, xs: Any) -> Any:
    def step(h: Any, x: Any) -> Any:
        h = fnp.tanh(w @ h + x)
        return h, h.sum()

    h, sums = fgrad.lax.scan(step, fnp.zeros(4), xs)
    return h.sum() + (sums**2).sum()


def collatz(n: Any) -> Any:
    def body(state: Any) -> Any:
        n, count = state
        return fgrad.lax.cond(n % 2 == 0, lambda n: n // 2, lambda n: 3 * n + 1, n), count + 1

    return fgrad.lax.while_loop(lambda s: s[0] > 1, body, (n, 0))


def lookups(indices: Any) -> Any:
    rows = fnp.asarray(TABLE)[indices]
    return {"rows": rows, "counts": fnp.zeros(40).at[indices].add(1.0), "nothing": None}


def chain(x: Any) -> Any:
    return fnp.sum(fnp.tanh(x) * fnp.exp(-x * x) + fnp.log1p(x * x))


def draws(words: Any) -> Any:
    key = fgrad.random.wrap_key_data(words)
    first, second = fgrad.random.split(key)
    return fgrad.random.normal(first, (3,)), fgrad.random.gamma(second, 2.0, (2,))


def scaled(x: Any, factor: Any) -> Any:
    return [factor * x, factor * 2.0, Pair(x, (factor,))]


def constants(x: Any) -> Any:
    big = fnp.asarray(TABLE.astype(np.float32))
    return big[:5] * x + fnp.array([np.inf, -0.0, np.nan, 1e-300, 1.0]), fnp.eye(3)


def long(x: Any) -> Any:
    for _ in range(1200):
        x = fnp.sin(x) * 0.999 + 0.001
    return x


def solved(a: Any, b: Any) -> Any:
    lower = fnp.linalg.cholesky(a @ a.T + 5.0 * fnp.eye(4))
    return fnp.sum(fgrad.scipy.linalg.solve_triangular(lower, b, lower=True) ** 2)


def marginal_likelihood(length: Any, noise: Any, x: Any, y: Any) -> Any:
    apart = (x[:, None] - x) / length
    kernel = fnp.exp(-0.5 * fnp.sum(apart**2, axis=-1)) + noise * fnp.eye(70)
    lower = fnp.linalg.cholesky(kernel)
    alpha = fgrad.scipy.linalg.cho_solve((lower, True), y)
    return 0.5 * y @ alpha + fnp.sum(fnp.log(fnp.diag(lower)))


PARAMS = {"w": rng.standard_normal((3, 6)), "b": np.zeros(6), "out": rng.standard_normal(6)}
ORIGIN = rng.standard_normal((3, 2))
ORIGIN[0] = 0.0
PROGRAMS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "gradients of a network": (
        fgrad.value_and_grad(network),
        (PARAMS, rng.standard_normal((7, 3)), rng.standard_normal(7)),
    ),
    "guards": (fgrad.grad(norms), (ORIGIN,)),
    "per-example gradients": (
        fgrad.vmap(fgrad.grad(network), (None, 0, 0)),
        (PARAMS, rng.standard_normal((7, 3)), rng.standard_normal(7)),
    ),
    "attention": (attention, tuple(rng.standard_normal((3, 5, 4)).astype(np.float32))),
    "hessian": (fgrad.hessian(chain), (rng.standard_normal(4),)),
    "scan": (fgrad.grad(recurrence), (rng.standard_normal((4, 4)), rng.standard_normal((9, 4)))),
    "while and cond": (collatz, (27,)),
    "while and cond of an array": (collatz, (np.int64(27),)),
    "lookups": (lookups, (np.array([3, 1, 3, 39]),)),
    "large blocks": (fgrad.value_and_grad(chain), (rng.standard_normal(200_000),)),
    "random numbers": (draws, (np.array([3, 4], np.uint32),)),
    "trees and Python numbers": (scaled, (rng.standard_normal(3), 2.5)),
    "constants": (constants, (np.float32(2.0),)),
    "long": (fgrad.grad(long), (0.3,)),
    "a Gaussian process": (
        fgrad.value_and_grad(marginal_likelihood, (0, 1)),
        (1.5, 0.2, rng.standard_normal((70, 3)), rng.standard_normal(70)),
    ),
    "solves": (
        fgrad.value_and_grad(solved, (0, 1)),
        (rng.standard_normal((4, 4)), rng.standard_normal(4)),
    ),
}


def test_programs(tmp_path: Path) -> None:
    cases, expected = [], []
    for number, (f, args) in enumerate(PROGRAMS.values()):
        path = fgrad.export(f, *args, path=tmp_path / f"p{number}.py")
        assert imported(path.read_text()) <= {"numpy", "scipy", *sys.stdlib_module_names}
        cases.append((path, f.__name__ if f.__name__.isidentifier() else path.stem, args))
        with np.errstate(all="ignore"):
            expected.append(fgrad.jit(f)(*args))
    for got, wanted, name in zip(run_apart(cases, tmp_path), expected, PROGRAMS, strict=True):
        assert_same_bits(got, wanted, name)


def test_in_32_bits(tmp_path: Path) -> None:
    with fgrad.enable_x64(False):
        x = np.linspace(0.1, 1.0, 6)
        f = fgrad.value_and_grad(lambda x: fnp.sum(fgrad.scipy.special.gammaln(x) * fnp.cumsum(x)))
        path = fgrad.export(f, x.astype(np.float32), path=tmp_path / "f.py")
        expected = fgrad.jit(f)(x.astype(np.float32))
    (got,) = run_apart([(path, "f", (x.astype(np.float32),))], tmp_path)
    assert_same_bits(got, expected, "32 bits")


def test_large_constants_lie_beside_the_module(tmp_path: Path) -> None:
    path = fgrad.export(lookups, np.array([1]), path=tmp_path / "lookups.py")
    with np.load(tmp_path / "lookups.npz") as file:
        assert any(np.array_equal(file[name], TABLE) for name in file)
    assert len(path.read_text()) < 20_000


def test_a_module_without_large_constants_is_one_file(tmp_path: Path) -> None:
    fgrad.export(chain, np.ones(3), path=tmp_path / "chain.py")
    assert [p.name for p in tmp_path.iterdir()] == ["chain.py"]


def test_results_belong_to_nobody_else(tmp_path: Path) -> None:
    path = fgrad.export(lambda x: (x, x[:2]), np.ones(3), path=tmp_path / "same.py")
    module = load(path)
    x = np.ones(3)
    whole, part = module.same(x)
    x[:] = 2.0
    assert whole.tolist() == [1.0, 1.0, 1.0]
    assert part.tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match="read-only"):
        whole[0] = 1.0


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (({"w": np.ones(3)}, 1.0, None), r"params: expected a dict with keys \['b', 'w'\]"),
        (
            ({"w": np.ones(4), "b": 0.0}, 1.0, None),
            r"params\['w'\]: expected an array of shape \(3,\)",
        ),
        (({"w": np.ones(3, int), "b": 0.0}, 1.0, None), "dtype float64, got shape .* int64"),
        (({"w": np.ones(3), "b": 0.0}, 1, None), "x: expected a Python float, got int"),
        (({"w": np.ones(3), "b": 0.0}, 1.0, 2), "extra: expected None, got int"),
    ],
)
def test_other_arguments_are_refused(args: Any, message: str, tmp_path: Path) -> None:
    def f(params: Any, x: Any, extra: Any) -> Any:
        return params["w"] * x + params["b"]

    path = fgrad.export(f, {"w": np.ones(3), "b": 0.0}, 2.0, None, path=tmp_path / "f.py")
    module = load(path)
    assert module.f({"w": np.ones(3), "b": 0.5}, 2.0, None).tolist() == [2.5, 2.5, 2.5]
    with pytest.raises(TypeError, match=message):
        module.f(*args)


def test_an_index_out_of_range_is_an_index_error(tmp_path: Path) -> None:
    path = fgrad.export(lookups, np.array([1]), path=tmp_path / "f.py")
    with pytest.raises(IndexError, match="index 40 is out of range for axis 0 with size 40"):
        load(path).lookups(np.array([40]))


def test_what_cannot_be_exported(tmp_path: Path) -> None:
    def calls_back(x: Any) -> Any:
        return fgrad.pure_callback(np.sin, x, x)

    with pytest.raises(ExportError, match="Python function"):
        fgrad.export(calls_back, np.ones(3), path=tmp_path / "f.py")
    with pytest.raises(ExportError, match=r"a PRNGKeyArray.*key_data"):
        fgrad.export(lambda k: fgrad.random.normal(k), fgrad.random.key(0), path=tmp_path / "f.py")
    path = fgrad.export(
        lambda words: fgrad.random.normal(fgrad.random.wrap_key_data(words)),
        np.array([1, 2], np.uint32),
        path=tmp_path / "words.py",
    )
    path.unlink()
    with pytest.raises(ExportError, match="inside of a transform"):
        fgrad.grad(lambda y: fgrad.export(lambda x: x * y, 1.0, path=tmp_path / "f.py"))(2.0)
    with pytest.raises(ArgumentError, match=r"ends in \.py"):
        fgrad.export(chain, np.ones(3), path=tmp_path / "chain.txt")
    assert not list(tmp_path.iterdir())
