"""Calls of a compiled function: those of the latest signature take a short way, all others a long one."""

import collections
from typing import Any

import numpy as np
import pytest

import fgrad
import fgrad.numpy as fnp
from fgrad.transforms.direct_call import MISS

Pair = collections.namedtuple("Pair", "w b")


def structure(tree: Any) -> Any:
    """Containers, key orders, dtypes, shapes and weakness of a tree, and the values."""
    if isinstance(tree, dict):
        return "dict", [(key, structure(value)) for key, value in tree.items()]
    if isinstance(tree, (list, tuple)):
        return type(tree), [structure(value) for value in tree]
    if tree is None or isinstance(tree, str):
        return tree
    weak = fgrad.core.get_aval(tree).weak_type
    return str(np.asarray(tree).dtype), np.shape(tree), weak, np.asarray(tree).tolist()


x = np.arange(3.0)
ARGUMENTS = [
    (x,),
    (fnp.asarray(x),),
    (x[::-1],),
    (np.float32(x),),
    (np.arange(4.0),),
    (x > 1,),
    (2.0,),
    (2,),
    (True,),
    (fnp.asarray(2.0),),
    (np.float64(2.0),),
    (np.array(2.0),),
    (np.array(2.0, ">f8"),),
    ([x],),
    ((x,),),
    ([x, x],),
    ([],),
    (None,),
    ({"b": x, "a": 2.0},),
    ({"a": 2.0, "b": x},),
    ({"a": x},),
    (Pair(x, None),),
    (Pair(None, x),),
    (collections.OrderedDict(b=x, a=2.0),),
    ([{"a": (x, [x, Pair(2.0, x)])}, None],),
    (x, x),
    (),
]


@pytest.mark.parametrize("first", range(len(ARGUMENTS)))
def test_calls_of_another_signature_miss_the_short_way(first: int) -> None:
    def f(*args: Any) -> Any:
        return fgrad.tree.map(lambda leaf: leaf * 2, args)

    jitted = fgrad.jit(f)
    for other in ARGUMENTS:
        for args in (ARGUMENTS[first], ARGUMENTS[first], other):
            assert structure(jitted(*args)) == structure(f(*args))
    assert jitted.cache_info().hits + jitted.cache_info().misses == 3 * len(ARGUMENTS)


def test_results_of_the_short_way_are_read_only_and_own_their_memory() -> None:
    f = fgrad.jit(lambda x: (x, x[1:], x + 1.0))
    given = np.arange(3.0)
    for _ in range(3):
        results = f(given)
        assert all(type(r) is fgrad.Array and not r.flags.writeable for r in results)
        assert not any(np.shares_memory(r, given) for r in results)


def test_short_way_follows_flags_names_and_keywords() -> None:
    @fgrad.jit
    def f(x: Any) -> Any:
        return x * 2.0

    for _ in range(3):
        f(x)
    assert f(x=x).tolist() == [0.0, 2.0, 4.0]
    with fgrad.enable_x64(False):
        assert f(x).dtype == np.float32
    assert f(x).dtype == np.float64
    with fgrad.disable_jit():
        before = f.cache_info()
        f(x)
        assert f.cache_info() == before
    with fgrad.debug_nans(), np.errstate(invalid="ignore"), pytest.raises(fgrad.errors.NanError):
        f(x * np.nan)
    assert fgrad.grad(lambda x: f(x).sum())(x).tolist() == [2.0, 2.0, 2.0]
    assert fgrad.vmap(f)(x).tolist() == [0.0, 2.0, 4.0]
    misses = f.cache_info().misses
    f.clear_cache()
    f(x)
    assert f.cache_info()[1:] == (misses + 1, 1)


def test_short_way_takes_views_that_numpy_made_of_arrays() -> None:
    f = fgrad.jit(lambda x: x * 2.0)
    for _ in range(3):
        f(x)
    view = np.ndarray.__getitem__(fnp.arange(6.0).reshape(2, 3), 1)
    assert f(view).tolist() == [6.0, 8.0, 10.0]


def test_the_axes_in_scope_are_part_of_a_signature() -> None:
    f = fgrad.jit(lambda x: x * 2.0)
    for _ in range(3):
        f(x)
    outside = f.cache_info()
    fgrad.vmap(lambda _: f(x), axis_name="i")(np.arange(2))
    assert f.cache_info().misses == outside.misses + 1


def test_scalars_take_the_short_way() -> None:
    f = fgrad.jit(lambda x: x * 2.0)
    scalar = fnp.sum(x)
    for _ in range(3):
        assert float(f(scalar)) == 6.0
    assert f._direct is not None
    assert f._direct[0]((scalar,)) is not MISS
    assert f.cache_info() == (2, 1, 1)


def test_scalars_are_narrowed_in_32_bits() -> None:
    scalar = fnp.sum(x)
    with fgrad.enable_x64(False):
        assert (scalar * 2.0).dtype == (scalar * scalar).dtype == np.float32
        assert fnp.where(True, scalar, scalar).dtype == np.float32
        assert fgrad.jit(lambda s: s * 2.0)(scalar).dtype == np.float32
