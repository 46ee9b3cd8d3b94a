"""NumPy, SciPy, pandas and Matplotlib on arrays of fgrad, and NumPy's functions on traced values."""

from __future__ import annotations

import copy
import math
import operator
import pickle
import re
from collections.abc import Callable
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.optimize
import scipy.signal
import scipy.sparse
import scipy.special
import scipy.stats

import fgrad
import fgrad.numpy as fnp
from fgrad import errors

mpl.use("Agg")

from matplotlib import pyplot as plt

rng = np.random.default_rng(0)
X = rng.normal(size=(6, 4))
V = rng.normal(size=12)
M = rng.normal(size=(4, 4)) + 4 * np.eye(4)
I = rng.integers(0, 5, 9)  # noqa: E741
P = np.abs(V) + 0.1
T = np.linspace(0.0, 3.0, 12)
S = M @ M.T

# What another library makes of arrays of fgrad must be what it makes of plain ones.
CALLS: dict[str, Callable[..., Any]] = {
    # ---- NumPy
    "np.sort": lambda x: np.sort(x, axis=0),
    "np.argsort": lambda x: np.argsort(x, axis=1),
    "np.partition": lambda x: np.partition(x, 2, axis=1),
    "np.median": lambda x: np.median(x, axis=1),
    "np.quantile": lambda x: np.quantile(x, [0.2, 0.7], axis=0),
    "np.percentile": lambda x: np.percentile(x, 30),
    "np.nanmedian": lambda x: np.nanmedian(x),
    "np.nanquantile": lambda x: np.nanquantile(x, 0.4, axis=1),
    "np.average": lambda x: np.average(x, axis=1, weights=np.arange(1.0, 5.0)),
    "np.std": lambda x: np.std(x, axis=0, ddof=1),
    "np.histogram": lambda x: np.histogram(x, bins=5),
    "np.digitize": lambda x: np.digitize(x, [-1.0, 0.0, 1.0]),
    "np.unique": lambda x: np.unique(np.round(x), return_counts=True),
    "np.cumsum": lambda x: np.cumsum(x, axis=1),
    "np.diff": lambda x: np.diff(x, axis=0),
    "np.gradient": lambda x: np.gradient(x),
    "np.cov": lambda x: np.cov(x),
    "np.corrcoef": lambda x: np.corrcoef(x, rowvar=False),
    "np.einsum": lambda x: np.einsum("ij,kj->ik", x, x),
    "np.tensordot": lambda x: np.tensordot(x, x, ([1], [1])),
    "np.where": lambda x: np.where(x > 0, x, 0.0),
    "np.select": lambda x: np.select([x > 1, x > 0], [x, 2 * x]),
    "np.clip": lambda x: np.clip(x, -0.5, 0.5),
    "np.pad": lambda x: np.pad(x, 1, mode="reflect"),
    "np.concatenate": lambda x: np.concatenate([x, x]),
    "np.block": lambda x: np.block([[x, x]]),
    "np.stack": lambda x: np.stack([x, x], axis=1),
    "np.insert": lambda x: np.insert(x, 1, 0.0, axis=0),
    "np.delete": lambda x: np.delete(x, 1, axis=0),
    "np.apply_along_axis": lambda x: np.apply_along_axis(lambda v: v.max() - v.min(), 0, x),
    "np.vectorize": lambda x: np.vectorize(lambda v: v * 2)(x),
    "np.nan_to_num": lambda x: np.nan_to_num(np.log(x), nan=0.0),
    "np.isclose": lambda x: np.isclose(x, x + 1e-9),
    "np.take_along_axis": lambda x: np.take_along_axis(x, np.argsort(x, 0), 0),
    "np.add.reduce": lambda x: np.add.reduce(x, axis=1),
    "np.multiply.outer": lambda x: np.multiply.outer(x[0], x[1]),
    "np.maximum.accumulate": lambda x: np.maximum.accumulate(x, axis=0),
    "np.ufunc where": lambda x: np.add(x, 1.0, where=x > 0, out=np.zeros_like(x)),
    "np.fft": lambda x: np.fft.rfft(x, axis=0),
    "np.array2string": lambda x: np.array2string(x),
    "np.polyfit": lambda x: np.polyfit(np.arange(6.0), x, 1),
    "np.linalg.svd": lambda x: np.linalg.svd(x, compute_uv=False),
    "np.linalg.lstsq": lambda x: np.linalg.lstsq(x, np.arange(6.0))[0],
    "np.linalg.norm": lambda x: np.linalg.norm(x, axis=1),
    "np.linalg.solve": lambda x: np.linalg.solve(x[:4] + 4 * np.eye(4), np.ones(4)),
    "np.memoryview": lambda x: np.asarray(memoryview(x)),
    "np.frompyfunc": lambda x: np.frompyfunc(lambda v: v + 1, 1, 1)(x).astype(float),
    "np.save": lambda x: pickle.loads(pickle.dumps(np.asarray(x))),
    "sorted": lambda x: sorted(x[:, 0]),
    "sum": lambda x: sum(x[:, 0]),
    "math.fsum": lambda x: math.fsum(x[:, 0]),
    # ---- SciPy
    "stats.zscore": lambda x: scipy.stats.zscore(x, axis=0),
    "stats.zscore of constants": lambda x: scipy.stats.zscore(0.0 * x + 1.0),
    "stats.rankdata": lambda x: scipy.stats.rankdata(x, axis=0),
    "stats.pearsonr": lambda x: tuple(scipy.stats.pearsonr(x[:, 0], x[:, 1])),
    "stats.spearmanr": lambda x: scipy.stats.spearmanr(x[:, 0], x[:, 1]).statistic,
    "stats.skew": lambda x: scipy.stats.skew(x, axis=0),
    "stats.trim_mean": lambda x: scipy.stats.trim_mean(x, 0.2),
    "stats.iqr": lambda x: scipy.stats.iqr(x),
    "stats.ttest_ind": lambda x: scipy.stats.ttest_ind(x[:, 0], x[:, 1]).pvalue,
    "stats.norm.logpdf": lambda x: scipy.stats.norm.logpdf(x, 0.5, 2.0),
    "stats.norm.fit": lambda x: scipy.stats.norm.fit(x),
    "stats.gaussian_kde": lambda x: scipy.stats.gaussian_kde(x[:, 0])(x[:, 1]),
    "stats.linregress": lambda x: scipy.stats.linregress(x[:, 0], x[:, 1]).slope,
    "special.expit": lambda x: scipy.special.expit(x),
    "special.logsumexp": lambda x: scipy.special.logsumexp(x, axis=1),
    "special.softmax": lambda x: scipy.special.softmax(x, axis=1),
    "linalg.solve": lambda x: scipy.linalg.solve(x[:4] + 4 * np.eye(4), np.ones(4)),
    "linalg.expm": lambda x: scipy.linalg.expm(x[:4]),
    "linalg.cho_factor": lambda x: scipy.linalg.cho_solve(
        scipy.linalg.cho_factor(x.T @ x), np.ones(4)
    ),
    "linalg.qr": lambda x: scipy.linalg.qr(x)[1],
    "sparse @ array": lambda x: scipy.sparse.csr_matrix(np.eye(6)) @ x,
    "array @ sparse": lambda x: x @ scipy.sparse.csr_matrix(np.eye(4)),
    "sparse.csr_matrix": lambda x: scipy.sparse.csr_matrix(x).toarray(),
    "interpolate.interp1d": lambda x: scipy.interpolate.interp1d(np.arange(6.0), x, axis=0)(2.5),
    "interpolate.CubicSpline": lambda x: scipy.interpolate.CubicSpline(np.arange(6.0), x)(2.5),
    "interpolate.RBF": lambda x: scipy.interpolate.RBFInterpolator(x, x[:, 0])(x[:2] + 0.1),
    "interpolate.griddata": lambda x: scipy.interpolate.griddata(x[:, :2], x[:, 2], x[:1, :2]),
    "signal.convolve2d": lambda x: scipy.signal.convolve2d(x, x[:2, :2]),
    "signal.savgol_filter": lambda x: scipy.signal.savgol_filter(x[:, 0], 5, 2),
    "signal.find_peaks": lambda x: scipy.signal.find_peaks(x[:, 0])[0],
    "ndimage.gaussian_filter": lambda x: scipy.ndimage.gaussian_filter(x, 1.0),
    "ndimage.label": lambda x: scipy.ndimage.label(x > 0)[0],
    "integrate.trapezoid": lambda x: scipy.integrate.trapezoid(x, axis=0),
    "integrate.cumulative_simpson": lambda x: scipy.integrate.cumulative_simpson(x, axis=0),
    "cluster": lambda x: scipy.spatial.distance.pdist(x),
    # ---- pandas
    "pd.DataFrame": lambda x: pd.DataFrame(x, columns=list("abcd")).describe().to_numpy(),
    "pd.Series": lambda x: pd.Series(x[:, 0]).rolling(2).mean().fillna(0.0).to_numpy(),
    "pd.groupby": lambda x: (
        pd.DataFrame({"k": [0, 1, 0, 1, 0, 1], "v": x[:, 0]}).groupby("k").mean().to_numpy()
    ),
    "pd.assign": lambda x: pd.DataFrame(x).assign(new=x[:, 0]).to_numpy(),
    "pd.setitem": lambda x: _assigned(x),
    "pd.cut": lambda x: pd.cut(x[:, 0], 3).codes,
    "series + array": lambda x: (pd.Series(np.ones(6)) + x[:, 0]).to_numpy(),
    "array + series": lambda x: (x[:, 0] + pd.Series(np.ones(6))).to_numpy(),
    "masked array": lambda x: (x + np.ma.masked_greater(np.zeros((6, 4)), 1.0)).filled(0.0),
}


def _assigned(x: Any) -> Any:
    frame = pd.DataFrame(np.zeros((6, 4)))
    frame.iloc[:, 1] = x[:, 1]
    frame[2] = x[:, 2]
    return frame.to_numpy()


def same(got: Any, want: Any) -> None:
    if isinstance(want, str):
        assert got == want
        return
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want)
        for left, right in zip(got, want, strict=True):
            same(left, right)
        return
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


def test_there_are_some_eighty_calls() -> None:
    assert len(CALLS) >= 80


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_libraries_take_arrays_as_they_are(name: str) -> None:
    call = CALLS[name]
    array = fnp.asarray(X)
    same(call(array), call(X))
    np.testing.assert_array_equal(array, X)
    assert not array.flags.writeable


METHODS = (
    "Nelder-Mead Powell CG BFGS Newton-CG L-BFGS-B TNC COBYLA COBYQA SLSQP trust-constr dogleg trust-ncg trust-exact "
    "trust-krylov"
).split()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.filterwarnings("ignore")
def test_every_method_of_minimize_takes_our_gradients(method: str) -> None:
    center = np.array([1.0, -0.5])

    def loss(x: Any) -> Any:
        return fnp.sum((x - center) ** 2) + 0.1 * fnp.sum((x - center) ** 4)

    derivatives: dict[str, Any] = {}
    if method not in ("Nelder-Mead", "Powell", "COBYLA", "COBYQA"):
        derivatives["jac"] = fgrad.grad(loss)
    if method in (
        "Newton-CG",
        "dogleg",
        "trust-ncg",
        "trust-exact",
        "trust-krylov",
        "trust-constr",
    ):
        derivatives["hess"] = fgrad.hessian(loss)
    for function in (loss, fgrad.jit(loss)):
        found = scipy.optimize.minimize(function, fnp.zeros(2), method=method, **derivatives)
        np.testing.assert_allclose(found.x, center, atol=1e-3)


def test_other_solvers_of_scipy() -> None:
    def residuals(p: Any) -> Any:
        return p[0] * fnp.exp(-p[1] * T) - 2.0 * fnp.exp(-0.7 * T)

    found = scipy.optimize.least_squares(residuals, fnp.ones(2), jac=fgrad.jacfwd(residuals))
    np.testing.assert_allclose(found.x, [2.0, 0.7], rtol=1e-6)
    fitted, _ = scipy.optimize.curve_fit(
        lambda t, a, b: a * np.exp(-b * t), fnp.asarray(T), fnp.asarray(2.0 * np.exp(-0.7 * T))
    )
    np.testing.assert_allclose(fitted, [2.0, 0.7], rtol=1e-6)
    root = scipy.optimize.root(
        lambda x: x**3 - fnp.array([1.0, 8.0]),
        fnp.ones(2) * 1.5,
        jac=fgrad.jacrev(lambda x: x**3 - 1.0),
    )
    np.testing.assert_allclose(root.x, [1.0, 2.0], rtol=1e-6)
    np.testing.assert_allclose(
        scipy.optimize.brentq(lambda x: fnp.cos(x) - x, 0.0, 1.0), 0.7390851332151607
    )
    np.testing.assert_allclose(
        scipy.optimize.newton(lambda x: x**2 - 2.0, 1.0, fprime=fgrad.grad(lambda x: x**2 - 2.0)),
        math.sqrt(2.0),
    )
    for method in ("RK45", "DOP853", "Radau", "BDF", "LSODA"):
        solved = scipy.integrate.solve_ivp(
            lambda t, y: -y * fnp.array([1.0, 2.0]),
            (0.0, 1.0),
            fnp.ones(2),
            method=method,
            rtol=1e-8,
            atol=1e-10,
        )
        np.testing.assert_allclose(solved.y[:, -1], [math.exp(-1.0), math.exp(-2.0)], rtol=1e-5)
    np.testing.assert_allclose(scipy.integrate.quad(lambda t: fnp.sin(t), 0.0, math.pi)[0], 2.0)
    system = scipy.sparse.linalg.LinearOperator((4, 4), matvec=lambda v: fnp.asarray(S) @ v)
    solution, status = scipy.sparse.linalg.cg(system, fnp.ones(4), rtol=1e-10)
    assert status == 0
    np.testing.assert_allclose(S @ solution, np.ones(4), rtol=1e-6)


def test_matplotlib_draws_arrays() -> None:
    figure, axes = plt.subplots()
    try:
        x, y = fnp.asarray(T), fnp.asarray(V)
        (line,) = axes.plot(x, y, label="line")
        np.testing.assert_array_equal(line.get_ydata(), V)
        counts, edges, _ = axes.hist(y, bins=4)
        want_counts, want_edges = np.histogram(V, bins=4)
        np.testing.assert_array_equal(counts, want_counts)
        np.testing.assert_allclose(edges, want_edges)
        image = axes.imshow(fnp.asarray(X))
        np.testing.assert_array_equal(image.get_array(), X)
        axes.scatter(x, y, c=y, s=fnp.asarray(P))
        axes.errorbar(x, y, yerr=fnp.asarray(P))
        axes.fill_between(x, y - 1, y + 1)
        axes.bar(x, y)
        axes.contourf(fnp.asarray(X))
        axes.pcolormesh(fnp.asarray(X))
        axes.boxplot([y, y])
        axes.axhline(fnp.mean(y))
        axes.set_xlim(fnp.min(x), fnp.max(x))
        figure.canvas.draw()
    finally:
        plt.close(figure)


# ---- results of NumPy's functions on arrays --------------------------------------------------------


def test_numpy_returns_plain_arrays_that_may_be_written_to() -> None:
    x = fnp.arange(4.0)
    for result in (
        np.sin(x),
        np.sort(x),
        np.concatenate([x, x]),
        np.add(x, x),
        np.array(x),
        np.copy(x),
        np.zeros_like(x),
    ):
        assert type(result) is np.ndarray
        result[0] = 7.0
    np.testing.assert_array_equal(x, [0.0, 1.0, 2.0, 3.0])
    assert type(np.sum(x)) is np.float64


def test_operators_return_arrays_of_fgrad_on_either_side() -> None:
    x = fnp.arange(3.0)
    plain = np.arange(3.0)
    for result in (
        x + plain,
        plain + x,
        2.0 * x,
        np.float64(2.0) * x,
        x * np.float64(2.0),
        np.array(2.0) * x,
        np.float64(1.0) < x,
        np.eye(3) @ x,
        x[0] + np.float32(1),
        np.float32(1) - x,
        operator.add([1.0, 2.0, 3.0], x),
        x - (1.0, 2.0, 3.0),
        divmod(x, 2.0)[0],
        divmod(7.0, x + 1)[1],
        abs(x),
        ~fnp.arange(2),
        -x,
        round(x, 1),
        x == [0.0, 1.0, 5.0],
    ):
        assert isinstance(result, fgrad.Array)
        assert not result.flags.writeable
    assert (x == [0.0, 1.0, 5.0]).tolist() == [True, True, False]
    assert (x == "text") is False
    assert (x != None) is True  # noqa: E711


def test_out_writes_into_the_callers_array_only() -> None:
    w, step = np.ones(3), fnp.arange(3.0)
    alias = w
    w -= 0.5 * step
    assert w is alias
    np.testing.assert_array_equal(w, [1.0, 0.5, 0.0])
    np.add(step, step, out=w)
    np.testing.assert_array_equal(w, [0.0, 2.0, 4.0])
    np.cumsum(step, out=w)
    np.testing.assert_array_equal(w, [0.0, 1.0, 3.0])
    np.add.at(w, [0, 0], step[1])
    np.testing.assert_array_equal(w, [2.0, 1.0, 3.0])
    np.copyto(w, step)
    w[:] = step
    w[0] = step[2]
    np.testing.assert_array_equal(w, [2.0, 1.0, 2.0])
    for write in (
        lambda: np.add(1.0, 2.0, out=step[0]),
        lambda: np.add(w, 1.0, out=step),
        lambda: np.cumsum(w, out=step),
        lambda: np.copyto(step, 1.0),
        lambda: np.put(step, 0, 1.0),
        lambda: np.fill_diagonal(fnp.eye(2), 1.0),
        lambda: np.add.at(step, 0, 1.0),
    ):
        with pytest.raises(errors.InPlaceError, match=re.escape("np.array(x) is a writable copy")):
            write()
    np.testing.assert_array_equal(step, [0.0, 1.0, 2.0])


def test_a_weak_array_is_a_python_number_for_numpy() -> None:
    weak = fnp.asarray(2.0)
    assert np.multiply(weak, np.ones(2, "float32")).dtype == np.float32
    assert (np.ones(2, "float32") * weak).dtype == np.float32
    assert np.sqrt(weak) == math.sqrt(2.0)


# ---- NumPy's functions on traced values ------------------------------------------------------------

TRACED: dict[str, Callable[..., Any]] = {
    "ufuncs": lambda x: np.sum(np.sin(x) * np.exp(x) + np.hypot(x, 1.0) + np.logaddexp(x, 0.5)),
    "array on the left": lambda x: np.sum((X - x) * X + X / (2 + x**2) + np.float64(2.0) ** x),
    "matmul": lambda x: np.sum(S @ x.T) + np.sum(np.matmul(x, S)) + np.vecdot(x[0], x[1]),
    "reductions": lambda x: (
        np.mean(x) + np.var(x, axis=0).sum() + np.max(x) + np.prod(x[0]) + np.ptp(x)
    ),
    "methods of ufuncs": lambda x: (
        np.sum(np.add.reduce(x) * np.maximum.reduce(x, axis=0))
        + np.sum(np.multiply.outer(x[0], X[0]) + np.add.accumulate(x, axis=1)[:4])
    ),
    "shapes": lambda x: (
        np.sum(np.transpose(np.reshape(x, (4, 6)))[:, ::2] ** 3)
        + np.sum(np.moveaxis(x[None], 0, -1))
    ),
    "joining": lambda x: (
        np.sum(np.concatenate([x, X]) ** 2)
        + np.sum(np.stack([x[0], X[0]]) * np.vstack([x[1], x[2]]))
        + np.sum(np.block([[x, X]]))
    ),
    "choice": lambda x: np.sum(
        np.where(x > 0, x, 0.1 * x) + np.clip(x, -0.5, 0.5) + np.maximum(x, 0.2)
    ),
    "einsum": lambda x: (
        np.einsum("ij,ij->", x, X)
        + np.tensordot(x, X, 2)
        + np.dot(x[0], X[0])
        + np.inner(x[0], X[1])
    ),
    "linalg": lambda x: (
        np.sum(np.linalg.solve(x.T @ x + np.eye(4), np.ones(4)))
        + np.linalg.det(x[:4] + 4 * np.eye(4))
        + np.linalg.norm(x)
    ),
    "sorting": lambda x: (
        np.sum(np.sort(x, axis=1) * X) + np.sum(np.cumsum(x, axis=0)) + np.median(x)
    ),
    "indexing": lambda x: (
        np.sum(np.take(x, [0, 2], axis=0))
        + np.sum(np.diag(x[:4]))
        + np.trace(x)
        + np.sum(np.tril(x))
    ),
    "likes": lambda x: np.sum(
        np.zeros_like(x) + np.full_like(x, 2.0) * x + np.ones_like(x, dtype=float, subok=False)
    ),
    "calculus": lambda x: (
        np.sum(np.diff(x, axis=0) ** 2)
        + np.sum(np.gradient(x)[0])
        + np.interp(x[0, 0], T, V)
        + np.trapezoid(x[0])
    ),
    "padding": lambda x: (
        np.sum(np.pad(x, 1, mode="reflect") ** 2)
        + np.sum(np.roll(x, 1) * X)
        + np.sum(np.tile(x, 2) ** 2)
    ),
    "methods": lambda x: (
        (x.sum() + x.mean(axis=0) @ X[0] + x.T.reshape(-1).dot(X.ravel()) + x.clip(0.0).std()) * 1.0
    ),
    "isfinite": lambda x: np.sum(np.where(np.isfinite(x), x, 0.0)) + np.nansum(x),
    "strong dtype": lambda x: np.sum(np.add(x, x, dtype="float64")),
    "modf": lambda x: np.sum(np.modf(x)[0]) + np.sum(np.abs(x)),
}


@pytest.mark.parametrize("name", TRACED)
def test_plain_numpy_code_is_differentiable(name: str) -> None:
    f = TRACED[name]
    x = rng.normal(size=(6, 4)) + 0.05
    want = f(x)
    np.testing.assert_allclose(f(fnp.asarray(x)), want, rtol=1e-10)
    np.testing.assert_allclose(fgrad.jit(f)(x), want, rtol=1e-10)
    np.testing.assert_allclose(fgrad.vmap(f)(np.stack([x, X]))[0], want, rtol=1e-10)
    direction = rng.normal(size=x.shape)
    slope = (f(x + 1e-6 * direction) - f(x - 1e-6 * direction)) / 2e-6
    np.testing.assert_allclose(np.sum(fgrad.grad(f)(x) * direction), slope, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(fgrad.jvp(f, (x,), (direction,))[1], slope, rtol=1e-5, atol=1e-6)


def test_numpys_functions_make_strong_results_of_python_numbers() -> None:
    for f, ours in ((np.sin, fnp.sin), (np.add, fnp.add), (np.sum, fnp.sum), (np.sqrt, fnp.sqrt)):
        args = (2.0, 3.0) if f is np.add else (2.0,)
        seen: list[Any] = []

        def by_numpy(*v: Any, f: Any = f, seen: list[Any] = seen) -> Any:
            seen.append(f(*v))
            return seen[-1]

        assert not fgrad.jit(by_numpy)(*args).weak_type
        assert not fgrad.value_and_grad(by_numpy)(*args)[0].weak_type
        assert fgrad.jit(ours)(*args).weak_type
    x = np.ones(2, "float32")
    assert fgrad.jit(lambda v, s: np.multiply(v, s))(x, 2.0).dtype == np.float32
    assert fgrad.jit(lambda v, s: v * np.sqrt(s))(x, 2.0).dtype == np.float64


def chain(error: BaseException | None) -> list[BaseException]:
    found = []
    while error is not None:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found


def put_into(x: Any, index: Any) -> Any:
    out = np.zeros(3)
    out[index] = x
    return out


def added_in_place(x: Any) -> Any:
    out = np.zeros(3)
    out += x
    return out


REFUSED: dict[str, tuple[Callable[..., Any], Any, tuple[str, ...]]] = {
    "array of a list": (lambda x: np.array([x, x]), 2.0, ("np.array", "use fgrad.numpy.array")),
    "array of objects": (lambda x: np.array([x, x], dtype=object), 2.0, ("fgrad.numpy.array",)),
    "array of rows": (lambda x: np.array([x, x]), np.ones(2), ("use fgrad.numpy.array",)),
    "asarray": (lambda x: np.asarray(x), np.ones(2), ("np.asarray", "use fgrad.numpy.asarray")),
    "list in a function": (lambda x: np.sum([x, 2 * x]), 2.0, ("np.sum", "use fgrad.numpy.sum")),
    "list in a ufunc": (lambda x: np.sin([x, 2 * x]), 2.0, ("np.sin", "use fgrad.numpy.sin")),
    "ndarray.dot": (lambda x: np.ones(2).dot(x), np.ones(2), ("functions of fgrad.numpy",)),
    "put one": (lambda x: put_into(x, 0), 2.0, ("out = out.at[index].set(v)",)),
    "put several": (lambda x: put_into(x, slice(None)), np.ones(3), ("out.at[index].set(v)",)),
    "add in place": (added_in_place, np.ones(3), ("a += x", "a = a + x")),
    "out": (lambda x: np.add(x, x, out=np.zeros(3)), np.ones(3), ("out=",)),
    "full": (lambda x: np.full(3, x), 2.0, ("np.full", "use fgrad.numpy.full")),
    "copyto": (lambda x: np.copyto(np.zeros(3), x), np.ones(3), ("fnp.full",)),
    "add.at": (lambda x: np.add.at(np.zeros(3), [0], x), 2.0, (".at[[0]].add(v)",)),
    "zeros of a pair": (lambda x: np.zeros((x, 2)), 2.0, ("fgrad.numpy.array", "integer")),
    "eye": (lambda x: np.eye(x), 2.0, ("integer",)),
    "float": (float, 2.0, ("stop_gradient",)),
    "complex": (complex, 2.0 + 1j, ("stop_gradient",)),
    "math": (math.sin, 2.0, ("stop_gradient",)),
    "item": (lambda x: x.item(), 2.0, ("stop_gradient", "x.item()")),
    "tolist": (lambda x: x.tolist(), np.ones(2), ("stop_gradient", "x.tolist()")),
    "tobytes": (lambda x: x.tobytes(), np.ones(2), ("x.tobytes()",)),
    "pickle": (pickle.dumps, 2.0, ("pickled",)),
    "unknown ufunc": (lambda x: scipy.special.bdtri(1, 2, x), 0.5, ("bdtri", "fgrad.extend")),
    "unknown function": (lambda x: np.busday_count(x, x), 2.0, ("busday_count", "no counterpart")),
    "zeros": (lambda x: np.zeros(x), 2.0, ("fgrad.numpy.array", "integer")),
    "setitem": (
        lambda x: x.__setitem__((0, slice(1, None)), 1.0),
        np.ones((2, 2)),
        ("x.at[0, 1:].set(v)", "x.at[0, 1:].add(v)"),
    ),
    "delitem": (lambda x: x.__delitem__(0), np.ones(2), ("fnp.delete",)),
    "fill": (lambda x: x.fill(1.0), np.ones(2), ("full_like",)),
    "series": (lambda x: pd.Series([1.0, 2.0]) * x, np.ones(2), (".to_numpy()",)),
    "to series": (lambda x: x * pd.Series([1.0, 2.0]), np.ones(2), (".to_numpy()",)),
    "sparse": (lambda x: x @ scipy.sparse.csr_matrix(np.eye(2)), np.ones(2), (".toarray()",)),
    **{
        f"sparse left of {name}": (
            lambda x, f=f: f(scipy.sparse.csr_array(np.eye(2)), x),
            np.ones(2),
            (".toarray()",),
        )
        for name, f in (("@", operator.matmul), ("*", operator.mul), ("-", operator.sub))
    },
    "masked": (lambda x: x + np.ma.masked_array([1.0, 2.0]), np.ones(2), (".filled(value)",)),
    **{
        f"masked left of {name}": (
            lambda x, f=f: f(np.ma.masked_array([1.0, 2.0]), x),
            np.ones(2),
            (".filled(value)",),
        )
        for name, f in (("@", operator.matmul), ("*", operator.mul), ("+", operator.add))
    },
    "less.reduce": (lambda x: np.less.reduce(x), np.ones(3), ("np.less.reduce",)),
}


@pytest.mark.parametrize("transform", ["grad", "jvp", "jit", "vmap"])
@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_traced_says_so(name: str, transform: str) -> None:
    f, x, words = REFUSED[name]
    run = {
        "grad": lambda: fgrad.vjp(f, x),
        "jvp": lambda: fgrad.jvp(f, (x,), (x,)),
        "jit": lambda: fgrad.jit(f)(x),
        "vmap": lambda: fgrad.vmap(f)(np.stack([x, x])),
    }[transform]
    with pytest.raises((TypeError, ValueError)) as caught:
        run()
    found = [e for e in chain(caught.value) if isinstance(e, errors.FgradError)]
    assert found
    text = str(found[0])
    for word in words:
        # Where the value is unknown, it cannot be had by stopping the gradient.
        instead = {"jit": "static_argnums", "vmap": "in_axes"}.get(transform, word)
        assert (instead if word == "stop_gradient" else word) in text


def test_errors_name_function_argument_and_line() -> None:
    def model(weights: Any) -> Any:
        return math.exp(weights)

    with pytest.raises(errors.DerivativeCutError) as caught:
        fgrad.grad(model)(1.0)
    line = model.__code__.co_firstlineno + 1
    assert "grad of model" in str(caught.value)
    assert f"test_protocols.py:{line} (model)" in str(caught.value)
    with pytest.raises(errors.TracerArrayConversionError) as unknown:
        fgrad.jit(model)(1.0)
    for word in (
        "jit of model",
        "from argument weights",
        f"test_protocols.py:{line} (model)",
        "static_argnums",
    ):
        assert word in str(unknown.value)


def test_never_an_array_of_objects() -> None:
    def f(x: Any) -> Any:
        results = []
        for attempt in (
            lambda: np.array([x], object),
            lambda: np.array([[x, x]]),
            lambda: np.asarray([x, 1.0]),
            lambda: np.full(2, x),
            lambda: np.stack([x, x]),
            lambda: pd.Series([1.0]) + x,
            lambda: np.ones(2) * x,
            lambda: x * np.ones(2, object),
            lambda: np.ones(2, object) * x,
            lambda: np.append(np.ones(2), x),
            lambda: np.r_[x, 1.0],
        ):
            try:
                results.append(attempt())
            except (TypeError, ValueError) as error:
                assert any(isinstance(e, errors.FgradError) for e in chain(error))  # noqa: PT017
        assert not any(getattr(r, "dtype", None) == np.dtype(object) for r in results)
        return x * len(results)

    assert float(fgrad.grad(f)(2.0)) >= 3.0
    assert float(fgrad.jit(f)(2.0)) >= 6.0


def test_values_are_known_under_derivatives() -> None:
    seen: list[Any] = []

    def f(x: Any) -> Any:
        seen.append((str(x), repr(x), f"{x:.2f}", f"{x}", int(x), bool(x > 1)))
        if x > 1:
            return x * [10.0, 20.0][int(x > 1.5)]
        return x

    for run in (
        lambda: fgrad.grad(f)(2.0),
        lambda: fgrad.jvp(f, (2.0,), (1.0,))[1],
        lambda: fgrad.linearize(f, 2.0)[1](1.0),
        lambda: fgrad.jacrev(fgrad.grad(lambda x: f(x) * x / 2))(2.0),
    ):
        assert float(run()) == 20.0
    for text, _, number, *_ in seen:
        assert "2." in text
        assert number == "2.00"
    with pytest.raises(errors.TracerBoolConversionError, match="where"):
        fgrad.jit(lambda x: x if x > 1 else -x)(2.0)
    with pytest.raises(errors.TracerIntegerConversionError, match="astype"):
        fgrad.jit(int)(2.0)


def test_stop_gradient_makes_a_value_that_converts() -> None:
    def f(x: Any) -> Any:
        scale = float(fgrad.lax.stop_gradient(x)) + np.asarray(fgrad.lax.stop_gradient(x)).item()
        return x * scale

    assert float(fgrad.grad(f)(2.0)) == 4.0


def test_a_traced_value_is_an_array() -> None:
    def f(x: Any) -> Any:
        assert isinstance(x, fgrad.Array)
        assert isinstance(x, fnp.ndarray)
        assert not isinstance(x, np.ndarray)
        assert copy.copy(x) is x
        assert copy.deepcopy([x])[0] is x
        return x * 2.0

    for transform in (fgrad.grad, fgrad.jit, fgrad.jacfwd):
        transform(f)(2.0)
    fgrad.vmap(f)(np.ones(2))


def test_special_functions_find_what_is_registered_later() -> None:
    from fgrad.numpy import protocols

    before = dict(protocols._LATE)
    protocols.register_late("scipy.special", {"xlog1py": lambda x, y: x * fnp.log1p(y)})
    try:
        got = fgrad.grad(lambda x: scipy.special.xlog1py(x, 0.5 * x))(1.5)
        slope = (
            scipy.special.xlog1py(1.5 + 1e-6, 0.75 + 5e-7)
            - scipy.special.xlog1py(1.5 - 1e-6, 0.75 - 5e-7)
        ) / 2e-6
        np.testing.assert_allclose(got, slope, rtol=1e-6)
    finally:
        protocols._LATE.update(before)
        protocols._FUNCTIONS.pop(scipy.special.xlog1py, None)
