"""The shape of the code: layers, completeness of the primitives, what importing costs."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import fgrad
from fgrad.primitives import families
from fgrad.tracing import Primitive

PACKAGE = Path(fgrad.__file__).parent

# The layer of each module or folder; a module imports from its own layer or from below.
LAYERS = {
    "errors": 0,
    "missing_names": 0,
    "parameters": 0,
    "config": 0,
    "dtypes": 0,
    "avals": 0,
    "blocks": 0,
    "holders": 0,
    "source_info": 0,
    "stages": 5,
    "tools": 5,
    "version": 0,
    "_tree": 0,
    "ir": 1,
    "tracing": 2,
    "array": 2,
    "primitives": 3,
    "compiler": 4,
    "transforms": 4,
    "numpy": 5,
    "lax": 5,
    "nn": 5,
    "random": 5,
    "ad_checkpoint": 5,
    "checkpoint_policies": 5,
    "custom_batching": 5,
    "custom_derivatives": 5,
    "core": 5,
    "flatten_util": 5,
    "image": 5,
    "ops": 5,
    "profiler": 5,
    "removed_names": 5,
    "scipy": 5,
    "typing": 5,
    "tree": 5,
    "tree_util": 5,
    "extend": 5,
    "debug": 5,
    "devices": 5,
    "dlpack": 5,
    "example_libraries": 5,
    "experimental": 5,
    "sharding": 5,
    "test_util": 5,
    "inspect": 5,
    "operators": 5,
    "conversions": 5,
    "compat": 6,
    "__init__": 6,
}


def modules():
    for path in sorted(PACKAGE.rglob("*.py")):
        yield path, path.relative_to(PACKAGE).with_suffix("").parts


def layer_of(dotted):
    parts = dotted.split(".")
    if parts[0] != "fgrad":
        return None
    return LAYERS["__init__" if len(parts) == 1 else parts[1]]


def is_module(path):
    return path.with_suffix(".py").exists() or path.is_dir()


def imported(node, parts):
    """The dotted fgrad modules that an import statement names."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names if alias.name.split(".")[0] == "fgrad"]
    if isinstance(node, ast.ImportFrom):
        assert node.level == 0, f"relative import in {parts}"
        if node.module and node.module.split(".")[0] == "fgrad":
            folder = PACKAGE.joinpath(*node.module.split(".")[1:])
            if folder.is_dir():
                # A name imported from a package is a module of it, or comes from its __init__.
                names = [alias.name for alias in node.names]
                return [
                    f"{node.module}.{name}" if is_module(folder / name) else node.module
                    for name in names
                ]
            return [node.module]
    return []


@pytest.mark.parametrize(
    ("path", "parts"), list(modules()), ids=lambda p: ".".join(p) if isinstance(p, tuple) else ""
)
def test_imports_point_down(path, parts):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    top = parts[0]
    assert top in LAYERS, f"{top} has no layer"
    own = LAYERS[top]
    for node in ast.walk(tree):
        for name in imported(node, parts):
            layer = layer_of(name)
            assert layer <= own, f"{'.'.join(parts)} (layer {own}) imports {name} (layer {layer})"
    for function in ast.walk(tree):
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            for node in ast.walk(function):
                assert not imported(node, parts), (
                    f"{'.'.join(parts)} imports fgrad inside a function"
                )


def test_there_is_no_import_cycle_between_modules():
    graph = {}
    for path, parts in modules():
        name = ".".join(("fgrad", *parts)).removesuffix(".__init__")
        tree = ast.parse(path.read_text(encoding="utf-8"))
        targets = set()
        for node in tree.body:
            targets.update(imported(node, parts))
        graph[name] = targets
    done, active = set(), []

    def visit(name):
        if name in done or name not in graph:
            return
        assert name not in active, " -> ".join([*active[active.index(name) :], name])
        active.append(name)
        for target in graph[name]:
            # A package's __init__ re-exports its modules: the cycle would be in the modules.
            if not name.startswith(target + "."):
                visit(target)
        active.pop()
        done.add(name)

    for name in graph:
        visit(name)


def test_no_file_is_too_long():
    long = {
        str(path.relative_to(PACKAGE)): lines
        for path, _ in modules()
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > 900
    }
    assert not long


def test_every_primitive_has_every_rule():
    for cls in families.CLASSES:
        for rule in ("abstract_eval", "impl", "batch"):
            assert getattr(cls, rule) is not getattr(Primitive, rule), (cls, rule)
        if cls.differentiable:
            assert cls.jvp is not Primitive.jvp or cls.push is not Primitive.push, cls
            assert cls.vjp is not Primitive.vjp or cls.pull is not Primitive.pull, cls
    for primitive in families.SINGLETONS.values():
        assert len(primitive.partials) == primitive.arity or not primitive.differentiable


def test_a_primitive_without_a_rule_is_refused_when_it_is_declared():
    with pytest.raises(fgrad.errors.MissingRuleError, match="transpose"):

        class Incomplete(families.Linear):
            def abstract_eval(self, x):
                return x

            def impl(self, x):
                return x

            def batch(self, size, args, mapped):
                return self(*args), True


def test_importing_brings_neither_scipy_nor_jax():
    code = (
        "import sys, fgrad; print([m for m in ('scipy', 'jax', 'matplotlib') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def public_objects():
    for module in (
        fgrad,
        fgrad.numpy,
        fgrad.numpy.linalg,
        fgrad.lax,
        fgrad.nn,
        fgrad.random,
        fgrad.custom_batching,
        fgrad.custom_derivatives,
        fgrad.ad_checkpoint,
        fgrad.checkpoint_policies,
        fgrad.tree,
        fgrad.tree_util,
    ):
        for name in module.__all__:
            yield module, name, getattr(module, name)


def test_public_functions_are_documented():
    missing = [
        f"{module.__name__}.{name}"
        for module, name, thing in public_objects()
        if callable(thing) and not isinstance(thing, type) and not (thing.__doc__ or "").strip()
    ]
    assert not missing
