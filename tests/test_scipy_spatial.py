"""Rotations against JAX and SciPy, under all transforms, and where a form has a hole."""

from __future__ import annotations

import inspect
import itertools
import pickle
import warnings
from typing import Any

import jax.scipy.spatial.transform
import mpmath
import numpy as np
import pytest
import scipy.spatial.transform
from support.against_jax import holds_against_jax
from support.modules import jax

import fgrad
import fgrad.numpy as fnp
from fgrad.errors import ArgumentError, NonArrayError, ShapeError
from fgrad.scipy.spatial.transform import Rotation, Slerp
from fgrad.test_util import check_grads

RNG = np.random.default_rng(8)
QUATS, VECTORS = RNG.normal(size=(4, 4)), RNG.normal(size=(4, 3))
ANGLES = np.array([[0.3, 0.5, -1.2], [1.0, -0.4, 0.8]])
WEIGHTS = np.array([0.5, 1.0, 2.0, 0.7])
JaxRotation, JaxSlerp = jax.scipy.spatial.transform.Rotation, jax.scipy.spatial.transform.Slerp
SciPyRotation = scipy.spatial.transform.Rotation
SEQUENCES = [
    "".join(s)
    for n in (1, 2, 3)
    for letters in ("xyz", "XYZ")
    for s in itertools.product(letters, repeat=n)
    if all(a != b for a, b in itertools.pairwise(s))
]


def test_every_public_method_of_jax_is_there() -> None:
    of_tuples = {"count", "index"}
    for ours, theirs in ((Rotation, JaxRotation), (Slerp, JaxSlerp)):
        names = {n for n, _ in inspect.getmembers(theirs) if n[0] != "_"} - of_tuples
        assert names - set(dir(ours)) <= {"timedelta"}
    assert {n for n in dir(Rotation) if n[0] != "_"} == TRIED


def rotated(r: Any, q: Any, v: Any) -> Any:
    x = r.from_quat(q)
    return [x.apply(v), x.apply(v, inverse=True), x[1].apply(v), x.apply(v[2])]


#: Functions of the class of rotations, and their arguments, by the methods that they try.
CALLS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "from_quat as_quat": (lambda r: lambda q: r.from_quat(q).as_quat(), (QUATS,)),
    "as_quat": (
        lambda r: lambda q: r.from_quat(q).as_quat(canonical=True, scalar_first=True),
        (QUATS,),
    ),
    "as_matrix": (lambda r: lambda q: r.from_quat(q).as_matrix(), (QUATS,)),
    "from_matrix": (
        lambda r: lambda m: r.from_matrix(m).as_quat(),
        (SciPyRotation.from_quat(QUATS).as_matrix(),),
    ),
    "as_rotvec": (
        lambda r: lambda q: [r.from_quat(q).as_rotvec(), r.from_quat(q).as_rotvec(degrees=True)],
        (QUATS,),
    ),
    "from_rotvec": (
        lambda r: (
            lambda v: [r.from_rotvec(v).as_quat(), r.from_rotvec(50 * v, degrees=True).as_quat()]
        ),
        (VECTORS,),
    ),
    "from_mrp": (lambda r: lambda v: r.from_mrp(v).as_quat(), (VECTORS,)),
    "as_mrp": (lambda r: lambda q: r.from_quat(q).as_mrp(), (QUATS,)),
    "magnitude": (lambda r: lambda q: r.from_quat(q).magnitude(), (QUATS,)),
    "apply": (lambda r: lambda q, v: rotated(r, q, v), (QUATS, VECTORS)),
    "inv": (
        lambda r: lambda q: [r.from_quat(q).inv().as_quat(), r.from_quat(q[0]).inv().as_quat()],
        (QUATS,),
    ),
    "product": (
        lambda r: lambda p, q: (r.from_quat(p) * r.from_quat(q)).as_quat(),
        (QUATS, QUATS[::-1].copy()),
    ),
    "mean": (lambda r: lambda q: r.from_quat(q).mean().as_matrix(), (QUATS,)),
    "mean weighted": (
        lambda r: lambda q, w: r.from_quat(q).mean(w).as_matrix(),
        (QUATS, WEIGHTS),
    ),
    "concatenate": (
        lambda r: lambda q: r.concatenate([r.from_quat(q), r.from_quat(q[:2])]).as_quat(),
        (QUATS,),
    ),
    "as_euler": (lambda r: lambda q: r.from_quat(q).as_euler("ZXZ", True), (QUATS,)),
    "from_euler": (lambda r: lambda a: r.from_euler("xyz", 40 * a, True).as_quat(), (ANGLES,)),
}
TRIED = {name.split()[0] for name in CALLS} - {"product"} | {
    "identity",
    "random",
    "single",
    "quat",
}


@pytest.mark.parametrize("name", CALLS)
def test_rotations_are_those_of_jax(name: str) -> None:
    make, args = CALLS[name]
    holds_against_jax(make(Rotation), make(JaxRotation), args, rtol=1e-9)


@pytest.mark.parametrize("name", CALLS)
def test_rotations_are_those_of_scipy(name: str) -> None:
    make, args = CALLS[name]
    for got, expected in zip(
        fgrad.tree.leaves(make(Rotation)(*args)),
        fgrad.tree.leaves(make(SciPyRotation)(*args)),
        strict=True,
    ):
        np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("seq", SEQUENCES)
def test_angles_about_axes_are_those_of_scipy(seq: str) -> None:
    count = len(seq)
    angles = 2.0 * VECTORS[:, :count]
    for given, degrees in ((angles, False), (angles[0], False), (50.0 * angles, True)):
        got = Rotation.from_euler(seq, given, degrees).as_quat()
        np.testing.assert_allclose(
            got, SciPyRotation.from_euler(seq, given, degrees).as_quat(), atol=1e-14
        )
    if count < 3:
        return
    ours, theirs = Rotation.from_quat(QUATS), SciPyRotation.from_quat(QUATS)
    np.testing.assert_allclose(ours.as_euler(seq), theirs.as_euler(seq), rtol=1e-10)
    np.testing.assert_allclose(ours.as_euler(seq, True), theirs.as_euler(seq, True), rtol=1e-10)
    for middle in (0.0, np.pi / 2, -np.pi / 2, np.pi):
        # Where the first and the last axis fall together.
        pole = SciPyRotation.from_euler(seq, [0.3, middle, 0.4])
        found = Rotation.from_quat(pole.as_quat()).as_euler(seq)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            np.testing.assert_allclose(found, pole.as_euler(seq), atol=1e-9)
        again = Rotation.from_euler(seq, found).as_matrix()
        np.testing.assert_allclose(again, pole.as_matrix(), atol=1e-9)


def test_one_angle_and_many() -> None:
    for angles, shape in (
        (0.3, (4,)),
        ([0.3], (4,)),
        ([0.3, 0.4], (2, 4)),
        ([[0.3], [0.4]], (2, 4)),
    ):
        assert Rotation.from_euler("z", angles).quat.shape == shape
    several = Rotation.from_quat(RNG.normal(size=(2, 3, 4)))
    turned = several.apply(np.ones((3, 3)))
    assert turned.shape == (2, 3, 3)
    np.testing.assert_allclose(turned[1, 2], several[1][2].apply(np.ones(3)), rtol=1e-12)


# ---- no rotation, and half a turn ----------------------------------------------------------------


def test_slopes_where_there_is_no_rotation() -> None:
    zero = np.zeros(3)

    def there_and_back(v: Any) -> Any:
        return Rotation.from_rotvec(v).as_rotvec()

    np.testing.assert_allclose(fgrad.jacfwd(there_and_back)(zero), np.eye(3), atol=1e-15)
    np.testing.assert_allclose(fgrad.jacrev(there_and_back)(zero), np.eye(3), atol=1e-15)
    second = fgrad.hessian(there_and_back)(zero)
    np.testing.assert_allclose(second, 0.0, atol=1e-15)
    # Of a turned vector: the cross product, and then the double one.
    x = np.array([1.0, 2.0, 3.0])
    first = fgrad.jacfwd(lambda v: Rotation.from_rotvec(v).apply(x))(zero)
    np.testing.assert_allclose(first, np.cross(np.eye(3), x).T, atol=1e-15)
    curvature = fgrad.hessian(lambda v: Rotation.from_rotvec(v).apply(x))(zero)
    e = np.eye(3)
    expected = 0.5 * (np.cross(e[:, None], np.cross(e, x)) + np.cross(e, np.cross(e, x)[:, None]))
    np.testing.assert_allclose(curvature, np.moveaxis(expected, -1, 0), atol=1e-14)
    assert np.isfinite(
        np.asarray(fgrad.grad(lambda v: Rotation.from_rotvec(v).magnitude())(zero))
    ).all()


@pytest.mark.parametrize("size", [1e-9, 1e-3, 0.00999, 0.01001, 1.0, 3.1])
def test_series_and_formulas_meet(size: float) -> None:
    v = size * np.array([0.6, 0.0, 0.8])
    with mpmath.workdps(40):
        angle = mpmath.sqrt(sum(mpmath.mpf(x) ** 2 for x in v))
        scale = mpmath.sin(angle / 2) / angle
        expected = [float(scale * mpmath.mpf(x)) for x in v] + [float(mpmath.cos(angle / 2))]
    quat = Rotation.from_rotvec(v).as_quat()
    np.testing.assert_allclose(quat, expected, rtol=1e-14, atol=1e-300)
    np.testing.assert_allclose(Rotation(quat).as_rotvec(), v, rtol=1e-13)
    check_grads(lambda x: Rotation.from_rotvec(x).as_quat(), (v,), order=2)


def test_a_pose_is_found_by_descent() -> None:
    """The rotation between two clouds of points, from no rotation, by Gauss-Newton steps."""
    truth = Rotation.from_rotvec(np.array([0.4, -0.7, 0.3]))
    after = truth.apply(VECTORS)

    @fgrad.jit
    def step(v: Any) -> Any:
        def rest(w: Any) -> Any:
            return (Rotation.from_rotvec(w).apply(VECTORS) - after).ravel()

        j, r = fgrad.jacfwd(rest)(v), rest(v)
        return v - fnp.linalg.solve(j.T @ j, j.T @ r)

    v: Any = np.zeros(3)
    for _ in range(10):
        v = step(v)
    np.testing.assert_allclose(v, [0.4, -0.7, 0.3], atol=1e-12)


# ---- the class -----------------------------------------------------------------------------------


def test_rotations_are_trees() -> None:
    r = Rotation.from_quat(QUATS)
    assert fgrad.tree.structure(r) == fgrad.tree.structure(Rotation(0.0))
    turned = fgrad.jit(lambda x, y: x * y.inv())(r, r[2])
    np.testing.assert_allclose(turned[2].as_quat(), [0.0, 0.0, 0.0, 1.0], atol=1e-15)
    rows = fgrad.vmap(lambda x, v: x.apply(v))(r, VECTORS)
    np.testing.assert_allclose(rows, r.apply(VECTORS), rtol=1e-12)
    slope = fgrad.grad(lambda x: x.magnitude().sum())(r)
    assert slope.quat.shape == (4, 4)
    assert len(r) == 4
    assert [x.single for x in (r, r[0])] == [False, True]
    assert len(list(r)) == 4
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(r)).quat, r.quat)
    assert repr(Rotation.identity()) == "Rotation(Array([0., 0., 0., 1.], dtype=float64))"


def test_made_of_nothing_and_by_chance() -> None:
    np.testing.assert_array_equal(Rotation.identity().quat, JaxRotation.identity().quat)
    assert Rotation.identity(3, np.float32).quat.dtype == np.float32
    np.testing.assert_array_equal(Rotation.identity(2).as_matrix(), [np.eye(3)] * 2)
    many = Rotation.random(fgrad.random.key(0), 4000)
    np.testing.assert_allclose(np.linalg.norm(many.quat, axis=1), 1.0, rtol=1e-14)
    # All equally likely: a turned vector is anywhere on the sphere.
    turned = np.asarray(many.apply(np.array([0.0, 0.0, 1.0])))
    np.testing.assert_allclose(turned.mean(0), 0.0, atol=0.05)
    np.testing.assert_allclose(turned.T @ turned / 4000, np.eye(3) / 3, atol=0.03)
    assert Rotation.random(fgrad.random.key(0)).single
    both = Rotation.concatenate([Rotation.identity(), many[:2]])
    assert len(both) == 3


def test_precision_is_kept() -> None:
    narrow = Rotation.from_quat(QUATS.astype(np.float32))
    for x in (narrow.as_matrix(), narrow.as_rotvec(True), narrow.as_euler("xyz"), narrow.as_mrp()):
        assert x.dtype == np.float32
    assert Rotation.from_euler("xyz", ANGLES.astype(np.float32), True).quat.dtype == np.float32
    assert Rotation.from_rotvec(VECTORS.astype(np.float32)).quat.dtype == np.float32
    assert (narrow * narrow.inv()).mean().quat.dtype == np.float32
    assert Rotation.from_quat(np.array([0, 0, 0, 2])).quat.tolist() == [0.0, 0.0, 0.0, 1.0]
    first = Rotation.from_quat(np.array([2, 0, 0, 0]), scalar_first=True)
    assert first.quat.tolist() == [0.0, 0.0, 0.0, 1.0]


def test_refusals() -> None:
    r = Rotation.from_quat(QUATS)
    for match, call in {
        r"from_quat: got shape \(3,\); give \(..., 4\)": lambda: Rotation.from_quat(np.ones(3)),
        r"from_matrix: got shape \(2, 2\); give \(..., 3, 3\)": lambda: Rotation.from_matrix(
            np.ones((2, 2))
        ),
        r"from_euler: angles have shape \(2,\) for seq='xyz'": lambda: Rotation.from_euler(
            "xyz", [0.1, 0.2]
        ),
        r"apply: got shape \(4,\)": lambda: r.apply(np.ones(4)),
        r"apply: \(4,\) rotations and vectors of shape \(3, 3\)": lambda: r.apply(np.ones((3, 3))),
        r"mean: weights have shape \(2,\) for 4 rotations": lambda: r.mean(np.ones(2)),
        r"Slerp: times have shape \(3,\) for 4 rotations": lambda: Slerp(np.arange(3.0), r),
        r"Slerp: times have shape \(1,\) for one rotation": lambda: Slerp(np.ones(1), r[0]),
    }.items():
        with pytest.raises(ShapeError, match=match):
            call()
    for match, call in {
        r"from_quat: a quaternion is zero": lambda: Rotation.from_quat(np.zeros(4)),
        r"from_euler: seq is 'xyZ'": lambda: Rotation.from_euler("xyZ", ANGLES),
        r"from_euler: seq is 'xyw'": lambda: Rotation.from_euler("xyw", ANGLES),
        r"from_euler: seq is ''": lambda: Rotation.from_euler("", ANGLES),
        r"seq is 'xxy'; give an axis that differs": lambda: Rotation.from_euler("xxy", ANGLES),
        r"as_euler: seq is 'xy'; give three letters": lambda: r.as_euler("xy"),
        r"Slerp: times do not ascend": lambda: Slerp(np.array([0.0, 1.0, 1.0, 2.0]), r),
    }.items():
        with pytest.raises(ArgumentError, match=match):
            call()
    for match, call in {
        r"a single rotation has no len": lambda: len(r[0]),
        r"a single rotation cannot be indexed": lambda: r[0][0],
        r"concatenate: got a ndarray": lambda: Rotation.concatenate([QUATS]),
    }.items():
        with pytest.raises(NonArrayError, match=match):
            call()
    with pytest.raises(TypeError):
        r * 2.0


# ---- between rotations ---------------------------------------------------------------------------

TIMES = np.array([0.0, 0.4, 1.0, 2.5])
BETWEEN = np.array([0.0, 0.1, 0.4, 0.7, 2.2, 2.5])


def test_rotations_between_are_those_of_jax_and_scipy() -> None:
    def at(r: Any, s: Any) -> Any:
        return lambda q, times, t: s.init(times, r.from_quat(q))(t).as_matrix()

    # At the given times the speed changes: slopes are compared between them.
    ours, theirs = at(Rotation, Slerp), at(JaxRotation, JaxSlerp)
    holds_against_jax(ours, theirs, (QUATS, TIMES, BETWEEN[[1, 3, 4]]), rtol=1e-9)
    expected = scipy.spatial.transform.Slerp(TIMES, SciPyRotation.from_quat(QUATS))
    slerp = Slerp(TIMES, Rotation.from_quat(QUATS))
    for t in (BETWEEN, BETWEEN[1], BETWEEN.reshape(2, 3)[0]):
        np.testing.assert_allclose(slerp(t).as_quat(), expected(t).as_quat(), atol=1e-13)
    assert slerp(BETWEEN.reshape(2, 3)).quat.shape == (2, 3, 4)
    passed = fgrad.jit(lambda s, t: s(t).as_quat())(slerp, BETWEEN)
    np.testing.assert_allclose(passed, expected(BETWEEN).as_quat(), atol=1e-13)
    # Beyond the ends they go on.
    speed = slerp.rotvecs[-1] / 1.5
    further = slerp(3.5)
    np.testing.assert_allclose(
        further.as_matrix(),
        (Rotation.from_quat(QUATS)[2] * Rotation.from_rotvec(2.5 * speed)).as_matrix(),
        atol=1e-12,
    )
