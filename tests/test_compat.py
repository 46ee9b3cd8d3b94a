"""`fgrad.compat`: programs and packages that were written for JAX."""

from __future__ import annotations

import importlib
import os
import pkgutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.compat_packages import run as packages

import fgrad
import fgrad.numpy as fnp
from fgrad import compat, errors
from fgrad.compat import finder, shard_map
from fgrad.sharding import Mesh, PartitionSpec

SUPPORT = Path(__file__).parent / "support"


def in_a_process(code: str, **environment: str) -> str:
    """What a program prints in a process of its own, which must end well."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("JAX_", "FGRAD_"))}
    finished = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env=clean | environment,
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout.strip()


# ---- programs and packages -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "program", [SUPPORT / "jax_program.py", SUPPORT / "compat_packages" / "of_optax.py"]
)
def test_a_program_for_jax_prints_the_same_numbers(program: Path) -> None:
    ours = packages.output(program, [sys.executable], on_fgrad=True)
    theirs = packages.output(program, [sys.executable], on_fgrad=False)
    assert len(theirs) > 10
    assert not packages.difference(ours, theirs)


def test_numbers_that_differ_are_found() -> None:
    assert packages.difference(["1.0", "2.0"], ["1.0", "2.1"]) == "number 1 is 2.0, expected 2.1"
    assert packages.difference(["1.0"], []) == "1 numbers, expected 0"
    assert not packages.difference(["1.0"], ["1.0001"])


def test_the_page_lists_the_packages_that_have_a_program() -> None:
    page = (Path(__file__).parents[1] / "docs" / "compat.md").read_text(encoding="utf-8")
    for package in packages.programs():
        assert f"| {packages.DISTRIBUTIONS.get(package, package)} " in page


# ---- installing ------------------------------------------------------------------------------------


def test_the_example_of_install() -> None:
    example = (compat.install.__doc__ or "").split("::\n")[1]
    lines = [line.strip() for line in example.splitlines()]
    in_a_process("import fgrad\n" + "\n".join(lines))


def test_names_and_flags_come_and_go() -> None:
    code = """
import sys, fgrad, fgrad.compat as compat
from importlib.metadata import version
before = dict(fgrad.config.values)
compat.install()
compat.install()
import jax, jaxlib, jax.numpy as jnp
assert compat.is_installed()
assert jax.__version__ == version("jax") == version("jaxlib") == compat.JAX_VERSION
assert jax.__version_info__ == (0, 10, 2)
assert jax.numpy is jnp and jax.jit is fgrad.jit
assert jnp.ones(2).dtype == "float32" and float(jnp.arange(3)[7]) == 2
jnp.mine = 1
assert not hasattr(fgrad.numpy, "mine")
for name in ("jax.no_such_module", "jax.numpy.grids", "jax.config"):
    try:
        __import__(name)
    except ModuleNotFoundError as error:
        assert "fgrad has nothing in its place" in str(error), error
    else:
        raise AssertionError(name)
compat.uninstall()
compat.uninstall()
assert not compat.is_installed()
assert dict(fgrad.config.values) == before
assert not [m for m in sys.modules if m.partition(".")[0] in ("jax", "jaxlib")]
import jax
assert "site-packages" in jax.__file__ or "dist-packages" in jax.__file__
try:
    compat.install()
except compat.CompatibilityError as error:
    assert "install before the first import" in str(error)
    assert isinstance(error, ImportError)
else:
    raise AssertionError("installed beside JAX")
"""
    in_a_process(code)


@pytest.mark.parametrize(
    ("call", "environment", "width"),
    [
        ("install()", {}, "float32"),
        ("install(enable_x64=True); fgrad.compat.install()", {}, "float64"),
        ("install(enable_x64=False); fgrad.compat.install()", {"JAX_ENABLE_X64": "1"}, "float32"),
        ("install(); fgrad.compat.install(enable_x64=True)", {}, "float64"),
        ("install()", {"JAX_ENABLE_X64": "1"}, "float64"),
        ("install(enable_x64=True)", {}, "float64"),
        ("install(enable_x64=False)", {"JAX_ENABLE_X64": "true"}, "float32"),
    ],
)
def test_the_width_of_numbers(call: str, environment: dict[str, str], width: str) -> None:
    code = f"import fgrad.compat; fgrad.compat.{call}; import jax; print(jax.numpy.ones(1).dtype)"
    assert in_a_process(code, **environment) == width


# ---- the modules -----------------------------------------------------------------------------------


def test_every_module_that_fgrad_shares_with_jax_is_found() -> None:
    import jax

    theirs = {
        module.name.removeprefix("jax.")
        for module in pkgutil.walk_packages(jax.__path__, "jax.", onerror=lambda name: None)
        if not any(part.startswith("_") for part in module.name.split("."))
    }
    own = {
        module.name.removeprefix("fgrad.")
        for module in pkgutil.walk_packages(fgrad.__path__, "fgrad.")
        if not module.name.startswith("fgrad.compat")
    }
    # Primitives of fgrad's own kind, and fgrad's own version: JAX has other things under these names.
    assert (own & theirs) - finder.SHARED == {"extend", "version"}
    missing = [name for name in finder.SHARED if not finder.sources("jax." + name)]
    assert all(find_spec("fgrad." + name.partition(".")[0]) is None for name in missing), missing


#: Modules with public names that JAX has no module for, or another one under the same name.
OF_FGRAD_ALONE = {
    "compiler",
    "experimental.sparse_linalg",
    "extend",
    "ir",
    "lax.gather_scatter",
    "numpy.indexing",
    "numpy.linalg.products",
    "primitives.elementwise",
    "primitives.linalg",
    "primitives.reduction",
    "primitives.shape",
}


def test_modules_with_public_names_are_found_or_of_fgrad_alone() -> None:
    for module in pkgutil.walk_packages(fgrad.__path__, "fgrad."):
        if not module.name.startswith("fgrad.compat"):
            importlib.import_module(module.name)
    # Among them are modules that another one puts below itself.
    public = {
        name.removeprefix("fgrad.")
        for name, module in list(sys.modules.items())
        if name.startswith("fgrad.")
        and not name.startswith("fgrad.compat")
        and hasattr(module, "__all__")
    }
    own = {name for name in public if not any(part.startswith("_") for part in name.split("."))}
    assert own - finder.SHARED == OF_FGRAD_ALONE


@pytest.mark.parametrize(
    "name",
    [m.name for m in pkgutil.walk_packages(compat.__path__, "fgrad.compat.")],
)
def test_what_a_module_says_it_has_it_has(name: str) -> None:
    module = importlib.import_module(name)
    for public in getattr(module, "__all__", ()):
        assert hasattr(module, public)


def test_programs_find_recorded_calls_by_the_primitives_of_jax() -> None:
    code = """
import fgrad.compat
fgrad.compat.install()
import jax, jax.numpy as jnp
from jax.custom_derivatives import custom_jvp_call_p
from jax.experimental.pjit import pjit_p
from jax.extend.core.primitives import jit_p

@jax.custom_jvp
def f(x):
    return jnp.sin(x)

f.defjvp(lambda primals, tangents: (f(primals[0]), tangents[0]))
(outer,) = jax.make_jaxpr(jax.jit(lambda x: f(x)))(1.0).eqns
assert outer.primitive == pjit_p and outer.primitive == jit_p
assert outer.primitive != custom_jvp_call_p
(call,) = outer.params["jaxpr"].jaxpr.eqns
assert call.primitive == custom_jvp_call_p and call.primitive != pjit_p
(sine,) = call.params["call_jaxpr"].jaxpr.eqns
assert sine.primitive == jax.lax.sin_p
"""
    in_a_process(code)


# ---- primitives of programs for JAX ------------------------------------------------------------------


def test_rules_that_are_missing_are_named() -> None:
    primitives = importlib.import_module("fgrad.compat.primitives")
    lonely = primitives.Primitive("lonely")
    with pytest.raises(errors.MissingRuleError, match="def_abstract_eval"):
        fgrad.jit(lonely.bind)(1.0)
    lonely.def_abstract_eval(lambda x: x)
    with pytest.raises(errors.MissingRuleError, match=r"'lonely' .* def_impl"):
        lonely.bind(1.0)
    lonely.def_impl(lambda x: x)
    assert lonely.bind(2.0) == fgrad.jit(lonely.bind)(2.0) == 2.0
    for transform, table in ((fgrad.grad, "ad.primitive_jvps"), (fgrad.vmap, "primitive_batchers")):
        with pytest.raises(errors.MissingRuleError, match=table):
            transform(lambda x: lonely.bind(x).sum())(
                np.ones(()) if table[0] == "a" else np.ones(2)
            )


def test_parts_of_a_mesh_with_two_axes() -> None:
    mesh = Mesh(np.array([fgrad.devices()[0]] * 6).reshape(2, 3), ("a", "b"))
    x = np.arange(48.0).reshape(4, 12)
    spec = PartitionSpec
    shapes: list[Any] = []

    def part(x: Any, y: Any) -> Any:
        shapes.append((x.shape, y.shape))
        return x * 2, fgrad.lax.psum(x, ("a", "b")), y + fgrad.lax.axis_index("a")

    def mapped(*out_specs: Any) -> Any:
        return shard_map.shard_map(
            part, mesh=mesh, in_specs=(spec("a", "b"), spec(("b", "a"))), out_specs=out_specs
        )

    doubled, total, moved = mapped(spec("a", "b"), spec(), spec(("b", "a")))(x, np.arange(12.0))
    np.testing.assert_array_equal(doubled, 2 * x)
    blocks = x.reshape(2, 2, 3, 4)
    np.testing.assert_array_equal(total, blocks.sum(axis=(0, 2)))
    np.testing.assert_array_equal(moved, np.arange(12.0) + np.tile([0, 0, 1, 1], 3))
    assert shapes == [((2, 4), (2,))]
    with pytest.raises(errors.ShapeError, match="cannot be divided among the 3 devices"):
        mapped(spec(), spec(), spec())(np.ones((4, 10)), np.arange(12.0))


A, B = PartitionSpec("a"), PartitionSpec("b")


@pytest.mark.parametrize(
    ("in_specs", "out_specs", "text"),
    [
        ("a", A, "in_specs has entries that are no PartitionSpec: 'a'"),
        ((A, 3), A, "in_specs has entries that are no PartitionSpec"),
        (A, "a", "out_specs has entries that are no PartitionSpec: 'a'"),
        ((A,), A, "in_specs has 1 entries, and 2 arguments are given"),
        ((A, B, A), A, "in_specs has 3 entries, and 2 arguments are given"),
        ((), A, "in_specs has 0 entries, and 2 arguments are given"),
        ([A, A], A, r"in_specs is .*\[PartitionSpec.* structure PyTreeSpec"),
        ((A, {"x": A}), A, "in_specs is .*'x': PartitionSpec.* the arguments have the structure"),
        (A, (A, A), "out_specs is .* the results have the structure"),
        (PartitionSpec("c"), A, r"in_specs has PartitionSpec\('c'\), .* mesh are \('a', 'b'\)"),
        (A, PartitionSpec(("a", "c")), r"out_specs has .*'c'\)\), .* mesh are \('a', 'b'\)"),
        (PartitionSpec("a", "a"), A, "give each axis of the mesh at most once"),
        (PartitionSpec("a", "b"), A, r"argument 0 has shape \(6,\), and its PartitionSpec is"),
        (A, PartitionSpec(None, "b"), r"result 0 has shape \(3,\), and its PartitionSpec is"),
    ],
)
def test_specs_that_do_not_fit_are_named(in_specs: Any, out_specs: Any, text: str) -> None:
    mesh = Mesh(np.array([fgrad.devices()[0]] * 6).reshape(2, 3), ("a", "b"))
    x = np.arange(6.0)
    with pytest.raises(errors.ArgumentError, match=text):
        shard_map.shard_map(lambda x, y: x + y, mesh=mesh, in_specs=in_specs, out_specs=out_specs)(
            x, x
        )


def test_one_spec_stands_for_a_tree() -> None:
    mesh = Mesh(np.array([fgrad.devices()[0]] * 2), "a")
    options: dict[str, Any] = {"mesh": mesh, "out_specs": A}
    add = shard_map.shard_map(lambda x, y: x["u"] + y, in_specs=({"u": A}, None), **options)
    np.testing.assert_array_equal(add({"u": np.arange(4.0)}, 1.0), [1.0, 2.0, 3.0, 4.0])
    add = shard_map.shard_map(lambda x: x["u"] + x["v"], in_specs=A, **options)
    np.testing.assert_array_equal(add({"u": np.arange(2.0), "v": np.ones(2)}), [1.0, 2.0])
    constant = shard_map.shard_map(lambda: fnp.ones(2), in_specs=(), **options)
    np.testing.assert_array_equal(constant(), np.ones(4))


def test_sparse_arrays_under_the_names_of_jax() -> None:
    code = """
import fgrad.compat
fgrad.compat.install()
import jax.numpy as jnp, jax.experimental.sparse.linalg
from fgrad.experimental import sparse
from jax.experimental.sparse import BCOO, linalg
from jax.tools import colab_tpu
assert BCOO is sparse.BCOO
assert linalg is jax.experimental.sparse.linalg
assert linalg.spsolve is sparse.linalg.spsolve and callable(colab_tpu.setup_tpu)
print(BCOO.fromdense(jnp.eye(3)) @ jnp.array([1.0, 2.0, 3.0]))
"""
    assert in_a_process(code) == "[1. 2. 3.]"


def test_the_conjugate_is_known() -> None:
    conj_p = importlib.import_module("fgrad.compat.jax.lax").conj_p
    [equation] = fgrad.make_jaxpr(fnp.conj)(1j).eqns
    assert equation.primitive == conj_p
    assert conj_p == equation.primitive
    assert {equation.primitive: "conj"}[conj_p] == "conj"
    assert conj_p.bind(1 + 2j) == fgrad.jit(conj_p.bind)(1 + 2j) == 1 - 2j


# ---- what programs for JAX take for granted ----------------------------------------------------------


def test_a_rule_may_apply_its_function_to_tangents() -> None:
    @fgrad.custom_jvp
    def double(x: Any) -> Any:
        return 2.0 * x

    double.defjvp(lambda primals, tangents: (double(*primals), double(*tangents)))

    def three_times(x: Any) -> Any:
        return fgrad.lax.scan(lambda c, _: (double(c), None), x, None, length=3)[0]

    for f, slope in (
        (double, 2.0),
        (fgrad.jit(double), 2.0),
        (lambda x: fgrad.vmap(double)(x * np.ones(3)).sum(), 6.0),
        (three_times, 8.0),
    ):
        assert fgrad.grad(f)(1.0) == fgrad.jit(fgrad.grad(f))(1.0) == slope
        assert fgrad.linearize(f, 1.0)[1](1.0) == slope
    assert fgrad.grad(fgrad.grad(lambda x: double(x) ** 2))(1.0) == 8.0


def test_reads_out_of_range_as_in_jax() -> None:
    x = fnp.arange(3.0)
    positions = np.array([1, 9, -9])
    fgrad.config.update("fgrad_index_out_of_range", "jax")
    try:
        for f in (lambda x, i: x[i], fgrad.jit(lambda x, i: x[i])):
            np.testing.assert_array_equal(f(x, positions), [1.0, 2.0, 0.0])
        assert x[7] == 2.0
        np.testing.assert_array_equal(fnp.take(x, positions), [1.0, np.nan, np.nan])
        np.testing.assert_array_equal(fgrad.grad(lambda x: x[7])(x), [0.0, 0.0, 1.0])
        read = fgrad.jit(lambda x: x[7])
        assert read(x) == 2.0
    finally:
        fgrad.config.update("fgrad_index_out_of_range", "raise")
    for refused in (lambda: x[7], lambda: fnp.take(x, 7), lambda: read(x)):
        with pytest.raises(IndexError):
            refused()


def test_objects_that_are_called_need_no_name() -> None:
    class Field:
        def __getattr__(self, name: str) -> Any:
            return (
                3
                if name in ("__name__", "__annotations__")
                else object.__getattribute__(self, name)
            )

        def __call__(self, x: Any) -> Any:
            return x * x

    assert fgrad.grad(Field())(3.0) == 6.0
    np.testing.assert_array_equal(fgrad.vmap(Field())(np.arange(3.0)), [0.0, 1.0, 4.0])


def test_what_vmap_passes_whole_may_be_anything() -> None:
    def apply(x: Any, g: Any, name: Any) -> Any:
        return g(x) if name == "sin" else x

    x = np.arange(3.0)
    mapped = fgrad.vmap(apply, in_axes=(0, None, None))
    np.testing.assert_allclose(mapped(x, fnp.sin, "sin"), np.sin(x))
    np.testing.assert_allclose(fgrad.jit(lambda x: mapped(x, fnp.sin, "sin"))(x), np.sin(x))
    with pytest.raises(errors.NonArrayError, match="argument g"):
        fgrad.vmap(apply)(x, fnp.sin, x)


def test_random_keys_pass_for_arrays() -> None:
    seen = []
    key = fgrad.random.key(0)
    fgrad.jit(lambda k: seen.append(isinstance(k, fgrad.Array)) or fgrad.random.normal(k))(key)
    assert isinstance(key, fgrad.Array)
    assert seen == [True]
    assert not isinstance("key", fgrad.Array)


def test_types_among_the_results_of_eval_shape() -> None:
    like = fgrad.ShapeDtypeStruct((2,), np.float32)
    assert fgrad.eval_shape(lambda: {"a": like})["a"] == like
