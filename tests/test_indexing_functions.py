"""Functions that take from and put into arrays, against NumPy, under every transform."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fgrad
import fgrad.numpy as fnp
from fgrad import errors


def close(actual: Any, expected: Any) -> None:
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-12)


def made(name: str, x: np.ndarray, *args: Any, **kwargs: Any) -> np.ndarray:
    """What NumPy's function that changes its argument makes of a copy."""
    changed = x.copy()
    getattr(np, name)(changed, *args, **kwargs)
    return changed


X = np.array([[0.5, -1.5, 2.5], [3.5, -4.5, 5.5]])
Y = np.array([7.0, 8.0])
ROWS = np.array([[0, 1, -1], [1, -2, 0]])
MASK = np.array([[True, False, True], [False, True, True]])

# Name: the function of floats x and y, and its value by NumPy.
CASES: dict[str, tuple[Any, Any]] = {
    "take": (lambda x, y: fnp.take(x, ROWS), np.take(X, ROWS)),
    "take axis": (lambda x, y: fnp.take(x, ROWS, axis=1), np.take(X, ROWS, axis=1)),
    "take last": (lambda x, y: fnp.take(x, np.array([2]), axis=-1), np.take(X, [2], axis=-1)),
    "take one": (lambda x, y: fnp.take(x, 1, axis=0), X[1]),
    "take list": (lambda x, y: fnp.take(x, [0, 0]), X.ravel()[[0, 0]]),
    "take empty": (lambda x, y: fnp.take(x, [], axis=0), X[:0]),
    "take clip": (
        lambda x, y: fnp.take(x, np.array([-5, 1, 9]), axis=1, mode="clip"),
        np.take(X, [-5, 1, 9], axis=1, mode="clip"),
    ),
    "take wrap": (
        lambda x, y: fnp.take(x, np.array([-5, 1, 9]), axis=1, mode="wrap"),
        np.take(X, [-5, 1, 9], axis=1, mode="wrap"),
    ),
    "take fill": (
        lambda x, y: fnp.take(x, np.array([5, -1]), axis=0, mode="fill", fill_value=3.0),
        np.stack([np.full(3, 3.0), X[1]]),
    ),
    "take_along_axis": (
        lambda x, y: fnp.take_along_axis(x, ROWS, axis=1),
        np.take_along_axis(X, ROWS, axis=1),
    ),
    "take_along_axis 0": (
        lambda x, y: fnp.take_along_axis(x, np.array([[1, 0, -1]]), axis=0),
        np.take_along_axis(X, np.array([[1, 0, -1]]), axis=0),
    ),
    "take_along_axis one": (
        lambda x, y: fnp.take_along_axis(x, np.array([[1, 0]]), axis=1),
        np.take_along_axis(X, np.array([[1, 0]]), axis=1),
    ),
    "take_along_axis broadcast": (
        lambda x, y: fnp.take_along_axis(x[:1], ROWS, axis=1),
        np.take_along_axis(np.broadcast_to(X[:1], (2, 3)), ROWS, axis=1),
    ),
    "take_along_axis flat": (
        lambda x, y: fnp.take_along_axis(x, np.array([5, 0]), axis=None),
        np.take_along_axis(X, np.array([5, 0]), axis=None),
    ),
    "put_along_axis": (
        lambda x, y: fnp.put_along_axis(x, np.array([[2], [0]]), y[:, None], 1, inplace=False),
        made("put_along_axis", X, np.array([[2], [0]]), Y[:, None], 1),
    ),
    "put_along_axis flat": (
        lambda x, y: fnp.put_along_axis(x, np.array([5, 2]), y, None, inplace=False),
        made("put_along_axis", X, np.array([5, 2]), Y, None),
    ),
    "put": (
        lambda x, y: fnp.put(x, np.array([0, -1, 3]), y, inplace=False),
        made("put", X, [0, -1, 3], Y),
    ),
    "put clip": (
        lambda x, y: fnp.put(x, np.array([-9, 9]), y, mode="clip", inplace=False),
        made("put", X, [-9, 9], Y, mode="clip"),
    ),
    "put wrap": (
        lambda x, y: fnp.put(x, np.array([-9, 7]), y, mode="wrap", inplace=False),
        made("put", X, [-9, 7], Y, mode="wrap"),
    ),
    "put too many": (
        lambda x, y: fnp.put(x, np.array([4]), y, inplace=False),
        made("put", X, [4], Y),
    ),
    "put nothing": (lambda x, y: fnp.put(x, np.array([], int), y, inplace=False), X),
    "place": (lambda x, y: fnp.place(x, MASK, y, inplace=False), made("place", X, MASK, Y)),
    "place unknown": (
        lambda x, y: fnp.place(x, x > 0, y, inplace=False),
        made("place", X, X > 0, Y),
    ),
    "fill_diagonal": (
        lambda x, y: fnp.fill_diagonal(x, y, inplace=False),
        made("fill_diagonal", X, Y),
    ),
    "fill_diagonal tall": (
        lambda x, y: fnp.fill_diagonal(fnp.take(x, np.arange(7) % 2, axis=0), y, inplace=False),
        made("fill_diagonal", X[np.arange(7) % 2], Y),
    ),
    "fill_diagonal wrap": (
        lambda x, y: fnp.fill_diagonal(
            fnp.take(x, np.arange(7) % 2, axis=0), y, wrap=True, inplace=False
        ),
        made("fill_diagonal", X[np.arange(7) % 2], Y, wrap=True),
    ),
    "fill_diagonal cube": (
        lambda x, y: fnp.fill_diagonal(fnp.take(x, np.zeros((2, 2, 2), int)), y, inplace=False),
        made("fill_diagonal", np.full((2, 2, 2), 0.5), Y),
    ),
    "compress": (
        lambda x, y: fnp.compress(np.array([False, True]), x, axis=1),
        np.compress([False, True], X, axis=1),
    ),
    "compress size": (
        lambda x, y: fnp.compress(np.array([0, 1, 1]), x, axis=1, size=3, fill_value=4),
        np.concatenate([X[:, 1:], np.full((2, 1), 4.0)], axis=1),
    ),
    "compress size cut": (
        lambda x, y: fnp.compress(x[0] > 0, x, axis=1, size=1),
        X[:, :1],
    ),
    "compress size long": (
        lambda x, y: fnp.compress(x[0] > 0, x, axis=1, size=5),
        np.concatenate([X[:, [0, 2]], np.zeros((2, 3))], axis=1),
    ),
    "extract": (lambda x, y: fnp.extract(MASK, x), np.extract(MASK, X)),
    "extract size": (
        lambda x, y: fnp.extract(x < 0, x, size=3, fill_value=-1.0),
        np.array([-1.5, -4.5, -1.0]),
    ),
    "choose": (
        lambda x, y: fnp.choose(np.array([1, 0, 1]), [x, y[:, None]]),
        np.choose([1, 0, 1], [X, Y[:, None]]),
    ),
    "choose array": (lambda x, y: fnp.choose(np.array([1, 0, 1]), x), np.choose([1, 0, 1], X)),
    "choose clip": (
        lambda x, y: fnp.choose(np.array([-3, 5, 1]), x, mode="clip"),
        np.choose([-3, 5, 1], X, mode="clip"),
    ),
    "choose wrap": (
        lambda x, y: fnp.choose(np.array([-3, 5, 2]), x, mode="wrap"),
        np.choose([-3, 5, 2], X, mode="wrap"),
    ),
    "select": (
        lambda x, y: fnp.select([x > 3, x < 0], [x * x, y[:, None]], 9),
        np.select([X > 3, X < 0], [X * X, Y[:, None]], 9),
    ),
    "select shape": (
        lambda x, y: fnp.select([np.array([True, False])], [y[0]], x[:, :2]),
        np.select([np.array([True, False])], [Y[0]], X[:, :2]),
    ),
    "piecewise": (
        lambda x, y: fnp.piecewise(x, [x < 0, x > 3], [lambda t: -t, lambda t: t * t, 2]),
        np.piecewise(X, [X < 0, X > 3], [lambda t: -t, lambda t: t * t, 2]),
    ),
    "piecewise overlapping": (
        lambda x, y: fnp.piecewise(x, [x < 4, x < 0], [lambda t, k: k * t, 1.0], 3.0),
        np.piecewise(X, [X < 4, X < 0], [lambda t, k: k * t, 1.0], 3.0),
    ),
    "piecewise single": (
        lambda x, y: fnp.piecewise(x[0], x[0] < 0, [lambda t: -t]),
        np.piecewise(X[0], X[0] < 0, [lambda t: -t]),
    ),
    "piecewise scalar": (
        lambda x, y: fnp.piecewise(y[0], [y[0] < 0, y[0] >= 0], [5.0, lambda t: t * t]),
        np.piecewise(Y[0], [Y[0] < 0, Y[0] >= 0], [5.0, lambda t: t * t]),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_values(name: str) -> None:
    f, expected = CASES[name]
    close(f(fnp.asarray(X), fnp.asarray(Y)), expected)
    close(fgrad.jit(f)(X, Y), expected)
    close(fgrad.vmap(f)(np.stack([X, X]), np.stack([Y, Y]))[1], expected)
    close(fgrad.vmap(f, (None, 0))(X, np.stack([Y, Y]))[1], expected)


@pytest.mark.parametrize("name", CASES)
def test_derivatives(name: str) -> None:
    f, expected = CASES[name]
    rng = np.random.default_rng(5)
    tx, ty, ct = rng.normal(size=X.shape), rng.normal(size=Y.shape), rng.normal(size=expected.shape)
    h = 1e-6
    upper = np.asarray(f(fnp.asarray(X + h * tx), fnp.asarray(Y + h * ty)))
    lower = np.asarray(f(fnp.asarray(X - h * tx), fnp.asarray(Y - h * ty)))
    slope = (upper - lower) / (2 * h)
    for g in (f, fgrad.jit(f)):
        value, tangent = fgrad.jvp(g, (X, Y), (tx, ty))
        close(value, expected)
        np.testing.assert_allclose(tangent, slope, rtol=1e-6, atol=1e-6)
        cx, cy = fgrad.vjp(g, X, Y)[1](ct)
        np.testing.assert_allclose((cx * tx).sum() + (cy * ty).sum(), (ct * slope).sum(), rtol=1e-6)


def test_positions_that_are_traced() -> None:
    close(fgrad.jit(lambda i: fnp.take(X, i, axis=1))(ROWS), np.take(X, ROWS, axis=1))
    close(fgrad.vmap(lambda i: fnp.take_along_axis(Y, i, axis=0))(ROWS % 2), Y[ROWS % 2])
    close(fgrad.jit(lambda i: fnp.choose(i, X))(np.array([1, 0, 1])), np.choose([1, 0, 1], X))
    for f in (
        lambda i: fnp.take(X, i),
        lambda i: fnp.choose(i, X.T),
        lambda i: fnp.put(X, i, 1.0, inplace=False),
        lambda i: fnp.take_along_axis(Y, i, axis=0),
        lambda i: fnp.ravel_multi_index((i,), (2,)),
    ):
        for run in (f, fgrad.jit(f)):
            with pytest.raises(errors.IndexOutOfRangeError):
                run(np.array([0, 99]))
    with pytest.raises(errors.IndexOutOfRangeError):
        fnp.choose(np.array([-1, 0]), X[:, :2])


def test_take_keeps_the_default_fill_of_its_dtype() -> None:
    close(fnp.take(np.array([1, 2]), 5, mode="fill"), np.int64(-(2**63)))
    close(fnp.take(np.array([1.0, 2.0]), 5, mode="fill"), np.float64(np.nan))


def test_grids_of_positions() -> None:
    for own, theirs in (
        (fnp.diag_indices(3), np.diag_indices(3)),
        (fnp.diag_indices(2, 3), np.diag_indices(2, 3)),
        (fnp.diag_indices_from(np.zeros((2, 2, 2))), np.diag_indices(2, 3)),
        (fnp.tril_indices(3, -1, 4), np.tril_indices(3, -1, 4)),
        (fnp.triu_indices(3, 1), np.triu_indices(3, 1)),
        (fnp.tril_indices_from(X, 1), np.tril_indices_from(X, 1)),
        (fnp.triu_indices_from(X), np.triu_indices_from(X)),
        (fnp.mask_indices(3, np.triu, 1), np.mask_indices(3, np.triu, 1)),
        (fnp.ix_([1, 0], np.array([True, False, True])), np.ix_([1, 0], [True, False, True])),
        (fnp.ix_([], [2]), np.ix_([], [2])),
        (fnp.unravel_index(np.array([5, 0, 3]), (2, 3)), np.unravel_index([5, 0, 3], (2, 3))),
        (fnp.unravel_index(4, 5), np.unravel_index(4, 5)),
    ):
        assert len(own) == len(theirs)
        for a, b in zip(own, theirs, strict=True):
            close(a, b)
    rows, columns = fnp.mask_indices(2, np.triu, size=4)
    close(rows, np.array([0, 0, 1, 0]))
    close(columns, np.array([0, 1, 1, 0]))
    close(fgrad.jit(lambda a: a[fnp.tril_indices_from(a)])(X), X[np.tril_indices_from(X)])
    close(fgrad.jit(lambda a: a[fnp.ix_([1, 0], [2, 2])])(X), X[np.ix_([1, 0], [2, 2])])


def test_flat_positions_and_back() -> None:
    dims = (3, 4, 2)
    flat = np.arange(24).reshape(4, 6)
    places = np.unravel_index(flat, dims)
    for g in (lambda f: f, fgrad.jit):
        for own, theirs in zip(g(lambda i: fnp.unravel_index(i, dims))(flat), places, strict=True):
            close(own, theirs)
        for kwargs in ({}, {"order": "F"}, {"mode": "wrap"}, {"mode": ("clip", "wrap", "raise")}):
            found = g(lambda *p, k=kwargs: fnp.ravel_multi_index(p, dims, **k))(*places)
            close(found, np.ravel_multi_index(places, dims, **kwargs))
    far = (np.array([-1, 5]), np.array([7, -9]))
    for mode in ("wrap", "clip"):
        close(
            fnp.ravel_multi_index(far, (3, 4), mode=mode),
            np.ravel_multi_index(far, (3, 4), mode=mode),
        )
    # As JAX: negative ones count from the end, ones beyond the ends are clipped.
    rows, columns = fnp.unravel_index(np.array([-1, 99, -99]), (2, 3))
    close(rows, np.array([1, 1, 0]))
    close(columns, np.array([2, 2, 0]))
    small = fnp.unravel_index(np.array([100], np.int8), (2, 200))
    close(small[1], np.array([100]))


def test_a_case_not_taken_neither_warns_nor_poisons() -> None:
    x = np.array([-1.0, 4.0])

    def f(a):
        return fnp.piecewise(a, [a > 0], [lambda t: t**0.5, 0.0])

    expected = np.array([0.0, 0.25])
    close(fgrad.vjp(f, x)[1](np.ones(2))[0], expected)
    close(fgrad.jit(lambda a: fgrad.vjp(f, a)[1](np.ones(2))[0])(x), expected)

    def g(a):
        return fnp.select([a > 0], [a**0.5], 0.0)

    with np.errstate(invalid="ignore"):
        close(fgrad.vjp(g, x)[1](np.ones(2))[0], expected)


@pytest.mark.parametrize(
    ("run", "error", "words"),
    [
        (lambda: fnp.put(X, 0, 1.0), errors.InPlaceError, "inplace=False"),
        (lambda: fnp.place(X, MASK, Y), errors.InPlaceError, "inplace=False"),
        (lambda: fnp.fill_diagonal(X, 1.0), errors.InPlaceError, "inplace=False"),
        (lambda: fnp.put_along_axis(X, ROWS, 1.0, 1), errors.InPlaceError, "inplace=False"),
        (lambda: fnp.take(X, 0.5), errors.DTypeError, r"take: indices.*astype\(int\)"),
        (lambda: fnp.take(X, 0, axis=2), errors.AxisError, "take: axis 2"),
        (lambda: fnp.take(X, 0, mode="near"), errors.ArgumentError, "mode='near'"),
        (lambda: fnp.take(X, 7), errors.IndexOutOfRangeError, "index 7"),
        (lambda: fnp.take(X[:0], 0, axis=0, mode="clip"), errors.IndexOutOfRangeError, "without"),
        (lambda: fnp.take_along_axis(X, ROWS[0], 1), errors.ShapeError, r"2 axes and indices 1"),
        (lambda: fnp.take_along_axis(X, ROWS.T, 1), errors.ShapeError, "broadcast along axis 0"),
        (lambda: fnp.compress([1, 1, 1], X, axis=0), errors.IndexOutOfRangeError, "beyond the 2"),
        (lambda: fnp.compress(MASK, X, axis=0), errors.ShapeError, "one axis"),
        (
            lambda: fgrad.jit(lambda a: fnp.compress(a[0] > 0, a, axis=1))(X),
            errors.NonConcreteBooleanIndexError,
            "size=",
        ),
        (lambda: fnp.select([], []), errors.ArgumentError, "at least one"),
        (lambda: fnp.select([MASK], [X, X]), errors.ArgumentError, "1 conditions for 2"),
        (lambda: fnp.select([X], [X]), errors.DTypeError, "float64"),
        (lambda: fnp.piecewise(X, [MASK], [1, 2, 3]), errors.ArgumentError, "3 functions for 1"),
        (lambda: fnp.choose(np.array([0]), []), errors.ArgumentError, "at least one"),
        (lambda: fnp.diag_indices_from(X), errors.ShapeError, r"\(2, 3\)"),
        (lambda: fnp.tril_indices_from(Y), errors.ShapeError, r"\(2,\)"),
        (lambda: fnp.ix_(X), errors.ShapeError, "argument 0"),
        (lambda: fnp.fill_diagonal(Y, 1.0, inplace=False), errors.ShapeError, "two axes"),
        (lambda: fnp.place(X, MASK[0], Y, inplace=False), errors.ShapeError, "mask of shape"),
        (lambda: fnp.place(X, MASK, [], inplace=False), errors.ArgumentError, "empty"),
        (lambda: fnp.ravel_multi_index((0,), (2, 3)), errors.ArgumentError, "1 arrays"),
    ],
)
def test_errors_say_what_was_wrong(run: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        run()
