"""Pytrees: JAX as the reference, dict order beyond it, registration, errors, depth."""

from __future__ import annotations

import collections
import copy
import dataclasses
import enum
import functools
import itertools
import operator
import pickle
import time
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fgrad import _tree, tree, tree_util
from fgrad.errors import TreeStructureError, TreeTypeError


class Point(NamedTuple):
    x: Any
    y: Any


class Other(NamedTuple):
    x: Any
    y: Any


class Method:
    """Registered by methods, without keys; its metadata has no hash."""

    def __init__(self, children, meta):
        self.children, self.meta = tuple(children), meta

    def tree_flatten(self):
        return self.children, {"meta": self.meta}

    @classmethod
    def tree_unflatten(cls, meta, children):
        return cls(children, meta["meta"])

    def __eq__(self, other):
        return type(other) is Method and vars(self) == vars(other)

    def __repr__(self):
        return f"Method({self.children}, {self.meta})"


class Keyed(Method):
    """Registered by functions, with keys."""

    def __eq__(self, other):
        return type(other) is Keyed and vars(self) == vars(other)


@dataclasses.dataclass
class Layer:
    w: Any
    b: Any
    activation: str = tree.static(default="tanh")


@dataclasses.dataclass(frozen=True)
class Mode:
    name: str


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


def keyed_flatten(util):
    return lambda node: (
        [(util.GetAttrKey(f"child{i}"), child) for i, child in enumerate(node.children)],
        node.meta,
    )


for util in (jax.tree_util, tree_util):
    util.register_pytree_node_class(Method)
    util.register_pytree_with_keys(Keyed, keyed_flatten(util), lambda m, c: Keyed(c, m))
    util.register_dataclass(Layer)
    util.register_static(Mode)


METAS = st.integers(0, 2)


def nodes(children):
    """Containers of every kind around ``children``."""
    lists = st.lists(children, max_size=4)
    words = st.sampled_from(["w", "b", "a", "z"])
    dicts = st.one_of(
        st.dictionaries(words, children, max_size=4),
        st.dictionaries(st.integers(-2, 9), children, max_size=3),
    )
    return st.one_of(
        lists,
        lists.map(tuple),
        dicts,
        st.dictionaries(words, children, max_size=3).map(collections.OrderedDict),
        st.builds(
            collections.defaultdict,
            st.sampled_from([list, int, None]),
            st.dictionaries(words, children, max_size=3),
        ),
        st.builds(Point, children, children),
        st.builds(Other, children, children),
        st.builds(Method, lists, METAS),
        st.builds(Keyed, lists, METAS),
        st.builds(Layer, children, children, st.sampled_from(["tanh", "relu"])),
        st.builds(Mode, st.sampled_from(["train", "test"])),
        st.none(),
    )


LEAVES = st.integers(0, 9) | st.just("s") | st.builds(object)
trees = st.recursive(LEAVES, nodes, max_leaves=12)
small_trees = st.recursive(st.integers(0, 1), nodes, max_leaves=3)


def outcome(function, *args):
    """What a call gives, or the built-in kind of its error."""
    try:
        return "value", function(*args)
    except ValueError:
        return "error", ValueError
    except TypeError:
        return "error", TypeError
    except AttributeError as error:
        # JAX fails on the way to its message where keys have no attribute ``key``.
        return "error", type(error.__context__)


def dicts_fit_beyond_jax(x, y):
    """Whether dicts with the same keys are of unlike classes, orders or default factories."""
    if isinstance(x, dict) and isinstance(y, dict) and x.keys() == y.keys():
        meta = [(type(d), tree_util.flatten_one_level(d)[1]) for d in (x, y)]
        return meta[0] != meta[1] or any(dicts_fit_beyond_jax(x[key], y[key]) for key in x)
    if type(x) is not type(y) or not tree_util.is_tree_node(type(x)):
        return False
    pairs = zip(tree_util.flatten_one_level(x)[0], tree_util.flatten_one_level(y)[0], strict=False)
    return any(dicts_fit_beyond_jax(a, b) for a, b in pairs)


# ---- JAX as the reference ----------------------------------------------------------------


@given(trees)
def test_leaves_structure_and_paths_are_those_of_jax(x):
    leaves, treedef = tree.flatten(x)
    expected, jax_treedef = jax.tree.flatten(x)
    assert len(leaves) == len(expected)
    assert all(a is b for a, b in zip(leaves, expected, strict=True))
    assert (treedef.num_leaves, treedef.num_nodes) == (
        jax_treedef.num_leaves,
        jax_treedef.num_nodes,
    )
    children = [(c.num_leaves, c.num_nodes) for c in tree_util.treedef_children(treedef)]
    assert children == [(c.num_leaves, c.num_nodes) for c in jax_treedef.children()]
    pairs = tree.leaves_with_path(x)
    jax_pairs = jax.tree.leaves_with_path(x)
    assert [repr(path) for path, _ in pairs] == [repr(path) for path, _ in jax_pairs]
    for simple, separator in itertools.product([True, False], ["", "/"]):
        kwargs = {"simple": simple, "separator": separator}
        assert [tree_util.keystr(path, **kwargs) for path, _ in pairs] == [
            jax.tree_util.keystr(path, **kwargs) for path, _ in jax_pairs
        ]
    assert tree.flatten_with_path(x)[1] == treedef == tree.structure(x)


@given(trees)
def test_maps_are_those_of_jax(x):
    assert tree.map(lambda leaf: [leaf], x) == jax.tree.map(lambda leaf: [leaf], x)
    pair = tree.map(lambda a, b: (a, b), x, tree.map(lambda a: {"k": a}, x))
    assert pair == jax.tree.map(lambda a, b: (a, b), x, jax.tree.map(lambda a: {"k": a}, x))
    name = lambda util: lambda path, leaf: (util.keystr(path), leaf)  # noqa: E731
    assert tree.map_with_path(name(tree_util), x) == jax.tree.map_with_path(name(jax.tree_util), x)
    assert tree.map(lambda a: a, x) == x
    count = lambda n, _: n + 1  # noqa: E731
    assert tree.reduce(count, x, 0) == jax.tree.reduce(count, x, 0)


@given(trees, st.sampled_from([tuple, list, dict, int, type(None), Point, Layer, Method]))
def test_is_leaf_stops_where_it_stops_in_jax(x, stopping):
    calls, jax_calls = [], []
    leaves, treedef = tree.flatten(x, lambda y: (calls.append(y), isinstance(y, stopping))[1])
    expected, jax_treedef = jax.tree.flatten(
        x, lambda y: (jax_calls.append(y), isinstance(y, stopping))[1]
    )
    assert leaves == expected
    assert (treedef.num_leaves, treedef.num_nodes) == (
        jax_treedef.num_leaves,
        jax_treedef.num_nodes,
    )
    assert calls == jax_calls
    stop = lambda path, y: len(path) == 1 or y is None  # noqa: E731
    pairs = tree.leaves_with_path(x, stop, is_leaf_takes_path=True)
    jax_pairs = jax.tree.leaves_with_path(x, stop, is_leaf_takes_path=True)
    assert [(repr(p), leaf) for p, leaf in pairs] == [(repr(p), leaf) for p, leaf in jax_pairs]


@given(small_trees, small_trees)
def test_two_trees_fit_or_raise_as_in_jax(x, y):
    assume(not dicts_fit_beyond_jax(x, y))
    pair = lambda a, b: (a, b)  # noqa: E731
    assert outcome(tree.map, pair, x, y) == outcome(jax.tree.map, pair, x, y)
    assert outcome(tree.broadcast, x, y) == outcome(jax.tree.broadcast, x, y)
    paired = lambda _, a, b: (a, b)  # noqa: E731
    assert outcome(tree.map_with_path, paired, x, y) == outcome(
        jax.tree.map_with_path, paired, x, y
    )
    a, b = tree.structure(x), tree.structure(y)
    jax_a, jax_b = jax.tree.structure(x), jax.tree.structure(y)
    assert (a == b) is (jax_a == jax_b)
    assert (a != b) is (jax_a != jax_b)
    assert a != b or hash(a) == hash(b)
    assert outcome(a.flatten_up_to, y) == outcome(jax_a.flatten_up_to, y)


@given(small_trees, small_trees, st.integers(0, 6))
def test_structures_are_composed_and_transposed_as_in_jax(x, y, n):
    a, b, jax_a, jax_b = *map(tree.structure, (x, y)), *map(jax.tree.structure, (x, y))
    assert a.compose(b) == tree.structure(a.unflatten([y] * a.num_leaves))
    assert a.compose(b).num_leaves == a.num_leaves * b.num_leaves
    nested = a.compose(b).unflatten(range(a.num_leaves * b.num_leaves))
    if not a.num_leaves:  # an error in JAX
        expected = b.unflatten([nested] * b.num_leaves)
        assert tree.transpose(a, b, nested) == expected
    else:
        assert outcome(tree.transpose, a, b, nested) == outcome(
            jax.tree.transpose, jax_a, jax_b, nested
        )
        assert outcome(tree.transpose, a, b, x) == outcome(jax.tree.transpose, jax_a, jax_b, x)
        assert outcome(tree.transpose, a, None, nested) == outcome(
            jax.tree.transpose, jax_a, None, nested
        )
    assert outcome(a.unflatten, range(n)) == outcome(jax_a.unflatten, range(n))
    assert tree_util.treedef_tuple([a, b]) == tree.structure((x, y))
    assert tree_util.treedef_is_leaf(a) is jax.tree_util.treedef_is_leaf(jax_a)


@given(trees)
def test_one_level_is_that_of_jax(x):
    assert tree_util.is_tree_node(type(x)) is jax.tree_util.is_tree_node(type(x))
    registry = tree_util.default_registry
    if not tree_util.is_tree_node(type(x)):
        assert registry.flatten_one_level(x) is None
        assert registry.flatten_one_level_with_keys(x) is None
        return
    children = list(tree_util.flatten_one_level(x)[0])
    assert children == list(jax.tree_util.flatten_one_level(x)[0])
    pairs = list(tree_util.flatten_one_level_with_keys(x)[0])
    assert [child for _, child in pairs] == children
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        # JAX gives every field the name of the first.
        assert [str(key) for key, _ in pairs] == [".x", ".y"]
    else:
        jax_pairs = jax.tree_util.flatten_one_level_with_keys(x)[0]
        assert [repr(key) for key, _ in pairs] == [repr(key) for key, _ in jax_pairs]
    if isinstance(x, (Method, Keyed, Layer, Mode)):
        assert tree_util.flatten_one_level(x)[1] == jax.tree_util.flatten_one_level(x)[1]


@pytest.mark.parametrize(
    "x",
    [
        collections.Counter(a=1),
        collections.ChainMap({"a": 1}),
        {1, 2},
        "abc",
        functools.partial(max, 1),
        type("SubDict", (dict,), {})(a=1),
        type("SubList", (list,), {})([1]),
        type("SubTuple", (tuple,), {})((1, 2)),
        type("SubLayer", (Layer,), {})(1, 2),
        np.ones(3),
        np.float32(1),
        Layer,
    ],
    ids=lambda x: type(x).__name__,
)
def test_what_is_a_leaf_in_jax_is_a_leaf(x):
    assert jax.tree.leaves(x)[0] is x
    (leaf,) = tree.leaves(x)
    assert leaf is x
    assert tree_util.treedef_is_leaf(tree.structure(x))
    assert tree_util.all_leaves([x, x])


def test_deques_and_struct_sequences_are_containers():
    x = collections.deque([1, (2, 3)], maxlen=4)
    assert tree.leaves(x) == [1, 2, 3]
    rebuilt = tree.map(lambda n: n + 1, x)
    assert rebuilt == collections.deque([2, (3, 4)])
    assert rebuilt.maxlen == 4
    assert [tree_util.keystr(path) for path, _ in tree.leaves_with_path(x)] == [
        "[0]",
        "[1][0]",
        "[1][1]",
    ]
    epoch = time.gmtime(0)
    assert tree.leaves(epoch) == list(epoch)
    assert tree.map(lambda n: n, epoch) == epoch
    assert tree_util.keystr(tree.leaves_with_path(epoch)[0][0]) == ".tm_year"


def test_dicts_of_unlike_classes_fit_each_other():
    x, y = collections.OrderedDict(b=1, a=2), {"a": 10, "b": 20}
    assert tree.map(operator.add, x, y) == collections.OrderedDict(b=21, a=12)
    assert tree.map(operator.add, y, x) == {"a": 12, "b": 21}
    assert tree.structure(x) != tree.structure(y)


def test_reductions():
    assert tree.reduce(operator.sub, (10, [1, 2])) == jax.tree.reduce(operator.sub, (10, [1, 2]))
    nest = lambda a, b: f"({a}{b})"  # noqa: E731
    for n in range(1, 9):
        letters = list("abcdefgh"[:n])
        assert tree.reduce_associative(nest, letters) == jax.tree.reduce_associative(nest, letters)
    assert tree.reduce_associative(nest, (), identity="e") == "e"
    assert tree.reduce(nest, None, None) is None
    with pytest.raises(TreeTypeError, match="no initializer"):
        tree.reduce(nest, {})
    with pytest.raises(TreeTypeError, match="no identity"):
        tree.reduce_associative(nest, {})
    assert tree.all((1, [True], None))
    assert not tree.all((1, [0]))
    assert tree.all((None, 1), is_leaf=lambda x: x is None) is False


def test_the_public_names_are_all_of_those_of_jax():
    for ours, theirs in ((tree, jax.tree), (tree_util, jax.tree_util)):
        public = {name for name in dir(theirs) if not name.startswith("_")}
        assert public <= set(dir(ours))
        assert set(ours.__all__) <= public


# ---- keys --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SequenceKey", 3),
        ("DictKey", "w"),
        ("DictKey", 2),
        ("GetAttrKey", "b"),
        ("FlattenedIndexKey", 1),
    ],
)
def test_keys_are_those_of_jax(name, value):
    key, jax_key = getattr(tree_util, name)(value), getattr(jax.tree_util, name)(value)
    assert (str(key), repr(key)) == (str(jax_key), repr(jax_key))
    (field,) = key.__match_args__
    assert key.__match_args__ == jax_key.__match_args__
    assert getattr(key, field) == value
    assert key == type(key)(**{field: value})
    assert hash(key) == hash(copy.copy(key))
    assert key != value
    assert pickle.loads(pickle.dumps(key)) == key
    with pytest.raises(AttributeError):
        setattr(key, field, 0)


def test_keys_of_different_kinds_differ():
    assert (
        len({tree_util.DictKey(1), tree_util.SequenceKey(1), tree_util.FlattenedIndexKey(1)}) == 3
    )


def test_a_class_may_bring_its_own_keys():
    class Bag:
        def __init__(self, *items):
            self.items = items

    tree_util.register_pytree_with_keys(
        Bag,
        lambda bag: ([(f"item{i}", x) for i, x in enumerate(bag.items)], None),
        lambda _, items: Bag(*items),
        lambda bag: (bag.items, None),
    )
    pairs = tree.leaves_with_path({"bag": Bag(1, (2,))})
    assert [path for path, _ in pairs] == [
        (tree_util.DictKey("bag"), "item0"),
        (tree_util.DictKey("bag"), "item1", tree_util.SequenceKey(0)),
    ]
    assert tree_util.keystr(pairs[1][0], simple=True, separator=".") == "bag.item1.0"


def test_leaf_names_are_what_a_user_would_write():
    x = {"w": [1, Point(2, None)], 3: Layer((4,), 5), "m": Keyed([6], 0)}
    names = _tree.leaf_names(x, "params")
    assert names == [
        "params[3].w[0]",
        "params[3].b",
        "params['m'].child0",
        "params['w'][0]",
        "params['w'][1].x",
    ]
    assert [eval(name, {"params": x}) for name in names if "child" not in name] == [4, 5, 1, 2]
    assert _tree.leaf_names(7, "x") == ["x"]
    assert _tree.leaf_names(None) == []


def test_children_without_names_are_numbered():
    x = Method([object(), {"b": object()}], 0)
    assert _tree.leaf_names(x, "m") == ["m[<flat index 0>]", "m[<flat index 1>]['b']"]


# ---- the order of dicts, beyond JAX -------------------------------------------------------


def orders(x):
    """Every dict of a tree as its list of keys."""
    if isinstance(x, dict):
        return [list(x), *[orders(value) for value in x.values()]]
    if isinstance(x, (list, tuple)):
        return [orders(value) for value in x]
    if isinstance(x, Layer):
        return [orders(x.w), orders(x.b)]
    return [orders(child) for child in x.children] if isinstance(x, Method) else []


@given(trees)
def test_dicts_are_rebuilt_in_the_order_of_the_caller(x):
    assert orders(tree.map(lambda leaf: leaf, x)) == orders(x)
    leaves, treedef = tree.flatten(x)
    rebuilt = tree.unflatten(treedef, leaves)
    assert rebuilt == x
    assert orders(rebuilt) == orders(x)


def order_key(x):
    return _tree.order_key(tree.structure(x))


@given(trees, trees)
def test_order_keys_are_equal_exactly_where_equal_structures_have_one_order(x, y):
    assert order_key(x) == order_key(copy.deepcopy(x))
    hash(order_key(x))
    if tree.structure(x) == tree.structure(y):
        assert (order_key(x) == order_key(y)) is (orders(x) == orders(y))


def test_insertion_order_is_no_part_of_equality_but_of_the_order_key():
    x, y = {"w": 1, "b": {"z": 2, "a": 3}}, {"b": {"a": 3, "z": 2}, "w": 1}
    a, b = tree.structure(x), tree.structure(y)
    assert a == b
    assert hash(a) == hash(b)
    assert _tree.order_key(a) != _tree.order_key(b)
    assert order_key(x) == _tree.order_key(a) == order_key(copy.deepcopy(x))
    assert hash(order_key(x)) == hash(order_key(copy.deepcopy(x)))
    assert order_key([collections.defaultdict(int, a=1, b=2)]) != order_key(
        [collections.defaultdict(int, b=1, a=2)]
    )
    assert order_key(((1, [2.0]), {})) == ()
    assert tree.leaves(x) == tree.leaves(y) == [3, 2, 1]
    assert list(tree.map(operator.add, x, y)) == ["w", "b"]
    assert list(tree.map(operator.add, y, x)) == ["b", "w"]
    assert list(a.unflatten([1, 2, 3])) == ["w", "b"]
    counts = collections.defaultdict(int, w=1, b=2)
    rebuilt = tree.map(lambda n: n + 1, counts)
    assert list(rebuilt.items()) == [("w", 2), ("b", 3)]
    assert rebuilt.default_factory is int


def test_an_ordered_dict_keeps_its_order_as_part_of_its_structure():
    x = collections.OrderedDict(b=1, a=2)
    y = collections.OrderedDict(a=2, b=1)
    assert tree.leaves(x) == [1, 2]
    assert tree.structure(x) != tree.structure(y)
    assert list(tree.map(lambda n: n, x)) == ["b", "a"]


INCOMPARABLE = [
    [3, "a", None, 1, "b"],
    [1j, 2.0, True, "x"],
    [np.float32(2), "x", np.int8(1)],
    [Colour.RED, Colour.BLUE],
    [("a", 1), (1, "a"), ()],
    [int, str, len],
]


@pytest.mark.parametrize("keys", INCOMPARABLE, ids=str)
def test_keys_need_not_compare(keys):
    for order in itertools.islice(itertools.permutations(keys), 24):
        x = {key: keys.index(key) for key in order}
        doubled = tree.map(lambda n: 2 * n, x)
        assert list(doubled.items()) == [(key, 2 * keys.index(key)) for key in order]
        together = tree.map(lambda a, b: (a, b), dict.fromkeys(keys, 0), x)
        assert together == {key: (0, keys.index(key)) for key in keys}


# ---- registration ------------------------------------------------------------------------


def test_dataclass_fields():
    x = Layer((1, 2), 3, "relu")
    leaves, treedef = tree.flatten(x)
    assert leaves == [1, 2, 3]
    assert tree.map(lambda n: 10 * n, x) == Layer((10, 20), 30, "relu")
    assert treedef != tree.structure(Layer((1, 2), 3, "tanh"))
    assert treedef == tree.structure(Layer((0, 0), 0, "relu"))
    assert [str(path[0]) for path, _ in tree.leaves_with_path(x)] == [".w", ".w", ".b"]

    @functools.partial(
        tree_util.register_dataclass, data_fields=["a"], meta_fields=["n"], drop_fields=["cache"]
    )
    @dataclasses.dataclass
    class Model:
        a: Any
        n: int
        cache: Any = None
        size: int = dataclasses.field(init=False, default=7)

    rebuilt = tree.map(lambda n: n + 1, Model(1, 5, cache="full"))
    assert rebuilt == Model(2, 5, cache=None)


class Plain:
    def __init__(self, x=0, n=0):
        self.x, self.n = x, n


@pytest.mark.parametrize(
    ("data", "meta", "error", "words"),
    [
        (["w"], None, TypeError, "both"),
        (None, ["w"], TypeError, "both"),
        (["w"], [], ValueError, "b of .* none of"),
        (["w", "b", "c"], [], ValueError, "c cannot be"),
        (["w", "b"], ["b"], ValueError, "b are both"),
        (["w", "b", "size"], [], ValueError, "init=False"),
    ],
)
def test_wrong_dataclass_fields_raise_as_in_jax(data, meta, error, words):
    @dataclasses.dataclass
    class Wrong:
        w: Any
        b: Any
        size: int = dataclasses.field(init=False, default=7)

    with pytest.raises(error, match=words):
        tree_util.register_dataclass(Wrong, data, meta)
    with pytest.raises(error):
        jax.tree_util.register_dataclass(Wrong, data, meta)
    assert tree.leaves(Wrong(1, 2)) == [Wrong(1, 2)]


def test_a_class_that_is_no_dataclass_can_be_registered_by_its_fields():
    with pytest.raises(TreeTypeError, match="no dataclass"):
        tree_util.register_dataclass(Plain)
    tree_util.register_dataclass(Plain, ["x"], ["n"])
    rebuilt = tree.map(lambda x: x + 1, Plain(1, 2))
    assert (rebuilt.x, rebuilt.n) == (2, 2)


def test_an_unregistered_dataclass_is_a_leaf_that_can_be_told():
    @dataclasses.dataclass
    class Unregistered:
        w: float

    x = Unregistered(1.0)
    assert tree.leaves((x, 1)) == [x, 1]
    assert _tree.is_unregistered_dataclass(x)
    assert not _tree.is_unregistered_dataclass(Unregistered)
    assert not _tree.is_unregistered_dataclass(Layer(1, 2))
    assert not _tree.is_unregistered_dataclass(1.0)


@pytest.mark.parametrize(
    "nodetype", [tuple, list, dict, type(None), collections.OrderedDict, Layer]
)
def test_a_class_is_registered_once(nodetype):
    with pytest.raises(TreeStructureError, match=f"only once.*{nodetype.__name__}"):
        tree_util.register_pytree_node(nodetype, lambda x: ((), None), lambda m, c: None)
    with pytest.raises(ValueError, match="Duplicate"):
        jax.tree_util.register_pytree_node(nodetype, lambda x: ((), None), lambda m, c: None)


def test_only_classes_with_the_methods_can_be_registered():
    with pytest.raises(TreeTypeError, match="only a class"):
        tree_util.register_pytree_node(3, lambda x: ((), None), lambda m, c: None)
    for register, method in (
        (tree_util.register_pytree_node_class, "tree_flatten"),
        (tree_util.register_pytree_with_keys_class, "tree_flatten_with_keys"),
    ):
        with pytest.raises(TreeTypeError, match=f"Plain needs the method {method}"):
            register(Plain)


def test_a_named_tuple_can_be_registered_as_something_else():
    class Tagged(NamedTuple):
        value: Any
        tag: str

    assert tree.leaves(Tagged(1, "t")) == [1, "t"]
    tree_util.register_pytree_node(
        Tagged, lambda x: ((x.value,), x.tag), lambda t, c: Tagged(*c, t)
    )
    assert tree.leaves(Tagged(1, "t")) == [1]
    assert tree.map(lambda x: x + 1, Tagged(1, "t")) == Tagged(2, "t")


def test_static_instances_are_metadata():
    x = (1, Mode("train"), [Mode("test")])
    assert tree.leaves(x) == [1]
    assert tree.map(lambda n: n + 1, x) == (2, Mode("train"), [Mode("test")])
    assert tree.structure(x) != tree.structure((1, Mode("test"), [Mode("test")]))
    with pytest.raises(
        TreeStructureError, match=r"tree\[0\] .*Mode\(name='train'\) .*Mode\(name='test'\)"
    ):
        tree.map(operator.add, (Mode("train"),), (Mode("test"),))


# ---- metadata ----------------------------------------------------------------------------


def test_metadata_without_a_hash_is_compared_by_value():
    a, b = tree.structure(Method([1], 2)), tree.structure(Method([1], 2))
    assert a == b
    assert hash(a) == hash(b)
    assert a != tree.structure(Method([1], 3))
    assert hash(_tree.order_key(a)) == hash(_tree.order_key(b))
    assert _tree.order_key(a) == _tree.order_key(b)
    assert tree.map(lambda n: n + 1, Method([1], 2)) == Method([2], 2)


def test_metadata_that_its_owner_changes_later_is_another_key():
    class Model:
        def __init__(self, x, config):
            self.x, self.config = x, config

    tree_util.register_pytree_node(
        Model, lambda m: ((m.x,), m.config), lambda config, x: Model(*x, config)
    )
    model = Model(1.0, {"depth": 2, "sizes": [1, 2]})
    before = order_key(model)
    assert order_key(model) == before
    model.config["sizes"].append(3)
    assert order_key(model) != before


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (1, True),
        (1, 1.0),
        (0.0, -0.0),
        ((1, "a"), (1.0, "a")),
        (frozenset([1]), frozenset([True])),
        ({"n": 1}, {"n": True}),
        ([0], [False]),
        (Mode(1), Mode(1.0)),
    ],
    ids=str,
)
def test_values_that_compare_equal_are_equal_metadata_but_different_keys(a, b):
    x, y = Keyed([5], a), Keyed([5], b)
    assert tree.structure(x) == tree.structure(y)
    assert order_key(x) != order_key(y)
    assert order_key(x) == order_key(Keyed([6], copy.deepcopy(a)))
    assert _tree.static_key(a) != _tree.static_key(b)


def test_static_keys():
    values = [None, 0, 1, True, 1.0, 0.0, -0.0, "a", b"a", (1,), [1], {1}, {1: 2}, {1: 2.0}]
    values += [len, Mode("a"), Mode(1), Mode(True), Mode, Colour.RED, complex(1), (1.0,), (True,)]
    keys = [_tree.static_key(value) for value in values]
    assert len(set(keys)) == len(values)
    assert keys == [_tree.static_key(copy.deepcopy(value)) for value in values]
    assert _tree.static_key({"a": 1, "b": 2}) != _tree.static_key({"b": 2, "a": 1})
    assert hash(_tree.static_key(np.ones(2))) == hash(_tree.static_key(np.zeros(3)))


# ---- Partial -----------------------------------------------------------------------------


def test_partial_is_a_node_as_in_jax():
    ours, theirs = tree_util.Partial(max, 1, key=3), jax.tree_util.Partial(max, 1, key=3)
    assert tree.leaves(ours) == jax.tree.leaves(theirs)
    assert repr(tree.leaves_with_path(ours)) == repr(jax.tree.leaves_with_path(theirs))
    assert isinstance(ours, functools.partial)
    halved = tree.map(lambda x: x / 2, tree_util.Partial(pow, 8.0, exp=4.0))
    assert halved() == 4.0**2
    assert tree.structure(tree_util.Partial(max, 1)) != tree.structure(tree_util.Partial(min, 1))
    assert pickle.loads(pickle.dumps(tree_util.Partial(max, 1)))(0) == 1


def test_partial_of_a_partial_keeps_the_inner_arguments_to_itself():
    inner = functools.partial(pow, 2)
    outer = tree_util.Partial(inner, 5)
    assert outer() == 32
    assert tree.leaves(outer) == [5]
    assert tree.structure(outer) == tree.structure(tree_util.Partial(inner, 6))
    assert tree.structure(outer) != tree.structure(tree_util.Partial(functools.partial(pow, 3), 5))
    nested = tree_util.Partial(tree_util.Partial(pow, 2), 5)
    assert nested() == 32
    assert tree.map(lambda x: x + 1, nested)() == 64
    assert tree.leaves(functools.partial(outer, 1)) != [5]


# ---- prefixes ----------------------------------------------------------------------------


def is_axis(x):
    return x is None or isinstance(x, int)


def test_prefixes_with_none_as_an_entry():
    args = ({"w": 1, "b": (2, 3)}, 4, None)
    spread = functools.partial(_tree.broadcast_prefix, is_leaf=is_axis)
    assert spread(0, args) == [0] * 4
    assert spread(None, args) == [None] * 4
    assert spread((0, None, 1), args) == [0, 0, 0, None]
    assert spread((None, 0, None), args) == [None, None, None, 0]
    assert spread(({"w": 1, "b": (None, 2)}, 0, 5), args) == [None, 2, 1, 0]
    assert spread(({"b": 7, "w": 1}, None, None), args) == [7, 7, 1, None]
    assert spread((Point(0, 1), 2), ((Point(1, 2)), 3)) == [0, 1, 2]
    assert _tree.broadcast_prefix((7, 0, None), args) == [7, 7, 7, 0]
    with pytest.raises(TreeStructureError):
        _tree.broadcast_prefix((None, 0, 0), args)
    stop = lambda x: isinstance(x, list)  # noqa: E731
    assert _tree.broadcast_prefix(([0], 1, 2), args, stop) == [[0], [0], [0], 1]


@pytest.mark.parametrize(
    ("in_axes", "words"),
    [
        ((0, 0), r"in_axes +tuple of 2 entries +tuple of 3 entries\n"),
        ([0, 0, 0], r"in_axes +list of 3 entries +tuple of 3 entries\n"),
        (({"w": 0}, 0, 0), r"in_axes\[0\]\['b'\] +\(missing\) +tuple of 2 entries\n"),
        (({"w": 0, "b": (0, 0), "c": 1}, 0, 0), r"in_axes\[0\]\['c'\] +a leaf +\(missing\)\n"),
        (
            ({"w": 0, "b": (0,)}, 0, 0),
            r"in_axes\[0\]\['b'\] +tuple of 1 entry +tuple of 2 entries\n",
        ),
        ((0, (0,), 0), r"in_axes\[1\] +tuple of 1 entry +a leaf of type int\n"),
    ],
)
def test_a_prefix_that_does_not_fit_is_explained(in_axes, words):
    args = ({"w": 1, "b": (2, 3)}, 4, None)
    with pytest.raises(TreeStructureError, match="(?s)^in_axes does not fit; give one.*" + words):
        _tree.broadcast_prefix(in_axes, args, is_axis)


# ---- errors ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("x", "y", "words"),
    [
        ({"a": (1, 2)}, {"a": (1, 2, 3)}, r"tree\['a'\] +tuple of 2 entries +tuple of 3 entries\n"),
        ({"a": (1, 2)}, {"a": [1, 2]}, r"tree\['a'\] +tuple of 2 entries +list of 2 entries\n"),
        ({"a": None}, {"a": 3}, r"tree\['a'\] +None +a leaf of type int\n"),
        ({"a": None}, {"a": np.ones(3)}, r"tree\['a'\] +None +an array of shape \(3,\)\n"),
        (
            [{"a": 1}],
            [{"b": 1}],
            r"\[0\]\['a'\] +a leaf +\(missing\)\n +tree\[0\]\['b'\] +\(missing\) +a leaf\n",
        ),
        ({}, {"b": 1}, r"tree\['b'\] +\(missing\) +a leaf\n"),
        (Point(1, (2,)), Point(1, 2), r"tree\.y +tuple of 1 entry +a leaf of type int\n"),
        (Point(1, 2), (1, 2), r"tree +Point of 2 entries +tuple of 2 entries\n"),
        (Layer(1, [2]), Layer(1, 2), r"tree\.b +list of 1 entry +a leaf of type int\n"),
        (
            Layer(1, 2),
            Layer(1, 2, "relu"),
            r"Layer of 2 entries with .*'tanh'.*Layer of 2 entries with .*'relu'",
        ),
        (Method([1], 2), Method([1, 2], 2), r"tree +Method of 1 entry +Method of 2 entries\n"),
        (
            collections.defaultdict(int, a=1),
            collections.defaultdict(int, b=1),
            r"tree\['a'\] +a leaf +\(missing\)\n",
        ),
    ],
)
def test_a_mismatch_names_the_path_and_what_is_there(x, y, words):
    for call in (
        lambda *trees: tree.map(lambda *_: 0, *trees),
        lambda *trees: tree.map_with_path(lambda *_: 0, *trees),
    ):
        with pytest.raises(TreeStructureError, match=f"(?s)tree number 2 does not.*{words}"):
            call(x, y)
        with pytest.raises(TreeStructureError, match="tree number 3 does not fit the first"):
            call(x, x, y)


def test_an_error_of_the_mapped_function_is_its_own():
    def broken(*_):
        raise ValueError("mine")

    with pytest.raises(ValueError, match=r"^mine$"):
        tree.map(broken, (1, 2), (3, 4))


def test_a_mismatch_under_a_class_that_checks_its_leaves():
    class Checked:
        def __init__(self, x):
            if not isinstance(x, np.ndarray):
                raise TypeError(x)
            self.x = x

    tree_util.register_pytree_node(Checked, lambda c: ((c.x,), None), lambda _, x: Checked(*x))
    with pytest.raises(TreeStructureError, match="tree number 2"):
        tree.map(lambda *_: 0, Checked(np.ones(2)), 1)


def test_wrong_calls():
    treedef = tree.structure((1, 2))
    with pytest.raises(TreeStructureError, match="expected 2 leaves, got 1"):
        tree.unflatten(treedef, [1])
    with pytest.raises(TreeStructureError, match="expected 2 leaves, got 3"):
        tree.unflatten(treedef, iter([1, 2, 3]))
    with pytest.raises(TreeTypeError, match="iterable, got 3"):
        tree.unflatten(treedef, 3)
    with pytest.raises(TreeTypeError, match="expected a PyTreeDef, got 3"):
        tree.unflatten(3, [1])
    with pytest.raises(TreeTypeError, match="2 times 2 leaves, got 3"):
        tree.transpose(treedef, tree.structure([1, 1]), ((1, 2), (3,)))
    with pytest.raises(TreeTypeError, match="inner_treedef"):
        tree.transpose(tree.structure(()), None, ())
    with pytest.raises(TreeStructureError, match="expected a container, got a leaf of type int"):
        tree_util.flatten_one_level(1)

    def broken():
        yield 1
        raise TypeError("mine")

    with pytest.raises(TypeError, match="mine"):
        tree.unflatten(treedef, broken())


def test_structures_pickle_and_copy():
    x = {"w": [1, Point(2, None)], "b": collections.OrderedDict(k=(3,)), "l": Layer(1, 2)}
    treedef = tree.structure(x)
    loaded = pickle.loads(pickle.dumps(treedef))
    assert loaded == treedef
    assert hash(loaded) == hash(treedef)
    assert _tree.order_key(loaded) == _tree.order_key(treedef)
    assert loaded.unflatten(tree.leaves(x)) == x
    assert list(loaded.unflatten(tree.leaves(x))) == ["w", "b", "l"]
    assert copy.copy(treedef) == copy.deepcopy(treedef) == treedef
    assert (treedef == 3, treedef != 3) == (False, True)


# ---- depth -------------------------------------------------------------------------------


def nested(wrap, n, x=1):
    for _ in range(n):
        x = wrap(x)
    return x


WRAPS = [lambda x: [x], lambda x: (x,), lambda x: {"k": x}, lambda x: Layer(x, None)]


@pytest.mark.parametrize("wrap", WRAPS)
def test_a_tree_of_10_000_levels_is_a_clean_error(wrap):
    x = nested(wrap, 10_000)
    for call in (
        tree.flatten,
        tree.leaves_with_path,
        _tree.leaf_names,
        lambda x: tree.map(lambda leaf: leaf, x),
        lambda x: tree.leaves(x, is_leaf=lambda _: False),
        lambda x: tree.broadcast(0, x),
        lambda x: _tree.broadcast_prefix(x, (1,)),
    ):
        with pytest.raises(RecursionError):
            call(x)
    assert tree.leaves({"a": 1}) == [1]


def test_a_tree_that_contains_itself_is_a_clean_error():
    x = [1]
    x.append(x)
    with pytest.raises(RecursionError):
        tree.leaves(x)


@pytest.mark.parametrize("wrap", WRAPS)
def test_a_tree_of_400_levels_works(wrap):
    x = nested(wrap, 400)
    leaves, treedef = tree.flatten(x)
    assert leaves == [1]
    assert (treedef.num_leaves, treedef.num_nodes) >= (1, 401)
    other = tree.structure(nested(wrap, 400))
    assert other == treedef
    assert hash(other) == hash(treedef)
    rebuilt = tree.unflatten(treedef, [2])
    assert tree.leaves(rebuilt) == [2]
    assert len(tree.leaves_with_path(x)[0][0]) == 400
    assert tree.leaves(tree.map(lambda a, b: a + b, x, rebuilt)) == [3]
    assert _tree.broadcast_prefix(x, rebuilt) == [1]
