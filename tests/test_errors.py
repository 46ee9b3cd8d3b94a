"""Bad input gets a named error in the user's words: function, argument, shapes, dtypes, line, fix."""

from __future__ import annotations

import dataclasses
import functools
import math
import operator
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from support import errors_page
from support.refusals import assert_in_users_words, assert_users_traceback, refusal

import fgrad
import fgrad.numpy as fnp
from fgrad import errors

refused = functools.partial(refusal, file=__file__)
x3 = np.array([1.0, 2.0, 3.0])


def defined(f: Callable[..., Any]) -> str:
    """A function as messages name it: with the line of its definition."""
    return f"{f.__name__} (test_errors.py:{f.__code__.co_firstlineno})"


@pytest.fixture(autouse=True)
def flags_as_before() -> Iterator[None]:
    yield
    for name in ("debug_nans", "debug_stale", "debug_key_reuse"):
        fgrad.config.update(name, False)
    fgrad.config.update("traceback_filtering", "auto")


# ---- every class of errors ---------------------------------------------------------------------

each_class = pytest.mark.parametrize("cls", errors_page.classes(), ids=lambda c: c.__name__)


def namespace_of_a_program() -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": "program"}
    exec(errors_page.prelude(), namespace)
    return namespace


@each_class
def test_the_wrong_program_of_a_docstring_raises_exactly_its_class(cls: type) -> None:
    code = compile(errors_page.programs(cls)["Wrong"], "program.py", "exec")
    with pytest.raises(errors.FgradError) as caught:
        exec(code, namespace_of_a_program())
    assert caught.type is cls
    assert_in_users_words(str(caught.value)) if cls is not errors.JaxprTypeError else None


@each_class
def test_the_right_program_of_a_docstring_runs(cls: type) -> None:
    exec(errors_page.programs(cls)["Right"], namespace_of_a_program())


@each_class
def test_a_class_derives_from_the_builtin_that_fits(cls: type) -> None:
    builtins = (
        TypeError,
        ValueError,
        IndexError,
        AttributeError,
        NameError,
        RuntimeError,
        FloatingPointError,
    )
    assert issubclass(cls, errors.FgradError)
    assert issubclass(cls, builtins)
    assert set(errors_page.programs(cls)) == {"Wrong", "Right"}


def test_errors_pickle() -> None:
    import pickle

    error = pickle.loads(pickle.dumps(errors.ShapeError("words")))
    assert type(error) is errors.ShapeError
    assert str(error) == "words"


# ---- grad --------------------------------------------------------------------------------------


def vector(x: Any) -> Any:
    return x * 2.0


def loss(params: Any, x: Any) -> Any:
    return (params["w"] * x).sum()


@pytest.mark.parametrize("transform", [fgrad.grad, fgrad.value_and_grad])
def test_a_result_that_is_no_scalar(transform: Any) -> None:
    name = transform.__name__
    who = f"{name} of {defined(vector)}"
    refused(
        errors.NonScalarOutputError, lambda: transform(vector)(x3), who, "(3,)", ".sum()", "jacrev"
    )

    def pair(x: Any) -> Any:
        return x, x

    refused(errors.NonScalarOutputError, lambda: transform(pair)(1.0), "tuple", "has_aux=True")
    refused(errors.NonScalarOutputError, lambda: transform(lambda x: None)(1.0), "NoneType")
    refused(errors.NonScalarOutputError, lambda: transform(lambda x: {"a": x})(1.0), "dict")
    refused(
        errors.ArgumentError, lambda: transform(vector, has_aux=True)(1.0), "has_aux=True", "pair"
    )


def test_a_result_that_is_no_scalar_under_other_transforms() -> None:
    for run in (
        lambda: fgrad.jit(fgrad.grad(vector))(x3),
        lambda: fgrad.vmap(fgrad.grad(vector))(np.ones((2, 3))),
        lambda: fgrad.grad(lambda x: fgrad.grad(vector)(x).sum())(x3),
    ):
        refused(errors.NonScalarOutputError, run, f"grad of {defined(vector)}", "(3,)")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (3, "Python int"),
        (True, "Python bool"),
        (np.int32(3), "int32"),
        (np.arange(3), "int64"),
        (np.ones(3, bool), "bool"),
        (np.ones(3, np.uint8), "uint8"),
    ],
)
def test_integer_inputs_of_grad(given: Any, words: str) -> None:
    def total(weights: Any) -> Any:
        return fnp.sum(weights * 1.0)

    who = f"grad of {defined(total)}"
    refused(
        errors.DifferentiationTypeError,
        lambda: fgrad.grad(total)(given),
        who,
        "argument weights",
        words,
        "allow_int",
    )
    assert fgrad.grad(total, allow_int=True)(given).dtype == fgrad.float0
    nested = {"layer": [1.0, given]}
    refused(
        errors.DifferentiationTypeError,
        lambda: fgrad.grad(lambda params: 0.0)(nested),
        "argument params['layer'][1]",
    )
    for transform in (fgrad.jacfwd, fgrad.jacrev, fgrad.hessian):
        who = f"{transform.__name__} of {defined(total)}"
        kind = words.split()[-1]
        refused(
            errors.DifferentiationTypeError,
            lambda t=transform: t(total)(given),
            who,
            "weights",
            kind,
        )
    refused(
        errors.DifferentiationTypeError,
        lambda: fgrad.jit(fgrad.grad(total))(given),
        who[-1],
        "weights",
    )


def test_results_without_derivatives() -> None:
    refused(errors.DifferentiationTypeError, lambda: fgrad.grad(lambda x: 3)(1.0), "int64", "float")
    refused(errors.DifferentiationTypeError, lambda: fgrad.grad(lambda x: x > 0)(1.0), "bool")


def test_complex_numbers_and_holomorphic() -> None:
    def rotated(z: Any) -> Any:
        return z * 1j

    kind = errors.DifferentiationTypeError
    who = f"grad of {defined(rotated)}"
    refused(kind, lambda: fgrad.grad(rotated)(1.0), who, "complex128", "holomorphic=True")
    refused(kind, lambda: fgrad.grad(rotated)(1j), who, "complex128", "holomorphic=True")
    refused(
        kind,
        lambda: fgrad.grad(rotated, holomorphic=True)(1.0),
        who,
        "argument z",
        "float64",
        ".astype(complex)",
    )
    refused(kind, lambda: fgrad.grad(lambda z: z.real, holomorphic=True)(1j), "float64", "result")
    refused(kind, lambda: fgrad.jacrev(rotated)(1.0), "the result", "complex128", "holomorphic")
    refused(kind, lambda: fgrad.jacfwd(rotated)(1j), "argument z", "complex128", "holomorphic")
    refused(kind, lambda: fgrad.hessian(rotated)(1j), "argument z", "complex128", "holomorphic")


def test_argnums() -> None:
    def area(width: Any, height: Any) -> Any:
        return width * height

    kind = errors.ArgnumsError
    for transform in (fgrad.grad, fgrad.value_and_grad, fgrad.jacfwd, fgrad.jacrev, fgrad.hessian):
        who = f"{transform.__name__} of {defined(area)}"
        for argnums in (2, -3, (0, 2)):
            run = functools.partial(transform(area, argnums=argnums), 1.0, 2.0)
            refused(
                kind, lambda run=run: run(), who, f"argnums={argnums}", "2 positional arguments"
            )
        refused(kind, lambda t=transform: t(area, argnums=(1, -1))(1.0, 2.0), who, "twice")
        for argnums in ("height", 0.5, None):
            refused(
                kind,
                lambda t=transform, a=argnums: t(area, argnums=a)(1.0, 2.0),
                who,
                repr(argnums),
            )
        refused(
            kind,
            lambda t=transform: t(area)(width=1.0, height=2.0),
            who,
            "0 positional",
            "by position",
        )


def test_what_is_not_callable() -> None:
    for transform in (
        fgrad.grad,
        fgrad.value_and_grad,
        fgrad.jit,
        fgrad.vmap,
        fgrad.jacfwd,
        fgrad.jacrev,
        fgrad.hessian,
        fgrad.checkpoint,
        fgrad.make_jaxpr,
        functools.partial(fgrad.vjp),
        functools.partial(fgrad.linearize),
        functools.partial(fgrad.linear_transpose),
    ):
        refused(
            errors.ArgumentError, lambda t=transform: t(3.5), "takes a function", "3.5", "float"
        )
    refused(errors.ArgumentError, lambda: fgrad.jvp(3.5, (1.0,), (1.0,)), "takes a function", "3.5")
    refused(errors.ArgumentError, lambda: fgrad.grad(x3), "takes a function", "ndarray")


# ---- vmap --------------------------------------------------------------------------------------


def test_in_axes_that_do_not_fit() -> None:
    kind = errors.MappedAxisError
    who = f"vmap of {defined(loss)}"
    params = {"w": np.ones(3)}

    def mapped(in_axes: Any) -> Callable[[], Any]:
        return lambda: fgrad.vmap(loss, in_axes=in_axes)(params, x3)

    refused(kind, mapped((0,)), who, "1 entr", "2 positional arguments")
    refused(kind, mapped(({"v": 0}, 0)), who, "params", "{'v': *}", "{'w': *}", "same containers")
    refused(kind, mapped(((0, 0), 0)), who, "params", "(*, *)", "{'w': *}")
    refused(kind, mapped(({"w": 1}, 0)), who, "params['w']", "axis 1", "(3,)", "None")
    refused(kind, mapped((-2, 0)), who, "params['w']", "axis -2", "(3,)")
    refused(kind, mapped((0, 0.5)), who, "x", "0.5", "integers or None")
    refused(kind, mapped(("w", 0)), who, "params", "'w'", "integers or None")
    refused(kind, mapped(True), who, "params", "True", "integers or None")
    refused(kind, lambda: fgrad.vmap(loss)(params, 2.0), who, "x", "shape ()", "None")
    refused(kind, mapped(None), who, "no argument is mapped", "axis_size")


def test_mapped_sizes_that_disagree() -> None:
    kind = errors.MappedAxisError
    who = f"vmap of {defined(loss)}"
    params = {"w": np.ones(3)}
    words = (who, "params['w'] has 3", "axis 0 of x", "(4, 2)", "has 4", "None in in_axes")
    refused(kind, lambda: fgrad.vmap(loss)(params, np.ones((4, 2))), *words)
    refused(kind, lambda: fgrad.vmap(loss)(params, x=np.ones((4, 2))), *words)
    refused(kind, lambda: fgrad.jit(fgrad.vmap(loss))(params, np.ones((4, 2))), *words)
    refused(
        kind,
        lambda: fgrad.vmap(loss, axis_size=5)(params, x3),
        "axis_size has 5",
        "params['w']",
        "(3,)",
    )


def test_out_axes_that_do_not_fit() -> None:
    kind = errors.MappedAxisError
    who = f"vmap of {defined(vector)}"
    refused(kind, lambda: fgrad.vmap(vector, out_axes=None)(x3), who, "the result", "depends")
    refused(kind, lambda: fgrad.vmap(vector, out_axes=1)(x3), who, "the result", "axis 1", "1 axes")
    refused(kind, lambda: fgrad.vmap(vector, out_axes=(0, 0))(x3), who, "(*, *)", "structure *")
    refused(kind, lambda: fgrad.vmap(vector, out_axes="a")(x3), who, "'a'")


# ---- tangents and cotangents -------------------------------------------------------------------


def direction_calls() -> dict[str, Callable[[Any], Any]]:
    primals = ({"w": x3}, np.float32(2.0))
    return {
        "jvp": lambda t: fgrad.jvp(loss, primals, t),
        "linearize": lambda t: fgrad.linearize(loss, *primals)[1](*t),
    }


@pytest.mark.parametrize("transform", sorted(direction_calls()))
def test_tangents_that_do_not_match(transform: str) -> None:
    call = direction_calls()[transform]
    kind = errors.TangentError
    who = f"{transform} of {defined(loss)}"
    scale = np.float32(1.0)
    refused(
        kind, lambda: call(({"v": x3}, scale)), who, "({'v': *}, *)", "({'w': *}, *)", "tangents"
    )
    refused(kind, lambda: call(({"w": x3},)), who, "({'w': *},)", "({'w': *}, *)")
    refused(kind, lambda: call(({"w": np.ones(4)}, scale)), who, "params['w']", "(4,)", "(3,)")
    refused(
        kind,
        lambda: call(({"w": x3}, 1j)),
        who,
        "of x",
        "complex128",
        "float32",
        ".astype('float32')",
    )
    refused(kind, lambda: call(({"w": x3}, np.float64(1.0))), who, "of x", "float64", "float32")
    refused(
        kind, lambda: call(({"w": np.arange(3)}, scale)), who, "params['w']", "int64", "float64"
    )
    refused(
        errors.NonArrayError,
        lambda: call(({"w": "a"}, scale)),
        who,
        "the tangent of params['w']",
        "'a'",
    )


def test_tangents_of_integers() -> None:
    kind = errors.TangentError
    refused(
        kind,
        lambda: fgrad.jvp(vector, (3,), (1,)),
        f"jvp of {defined(vector)}",
        "tangent of x",
        "int64",
        "np.zeros((), fgrad.float0)",
    )
    refused(
        kind,
        lambda: fgrad.jvp(vector, (np.arange(3),), (np.ones(3),)),
        "float64",
        "int64",
        "float0",
    )


def test_primals_and_tangents_come_in_tuples() -> None:
    kind = errors.TangentError
    refused(kind, lambda: fgrad.jvp(vector, 1.0, (1.0,)), "primals", "float", "tuple")
    refused(kind, lambda: fgrad.jvp(vector, (1.0,), 1.0), "tangents", "float", "tuple")
    refused(kind, lambda: fgrad.jvp(vector, (x3,), x3), "tangents", "ndarray", "tuple")


@pytest.mark.parametrize("transform", ["vjp", "linear_transpose"])
def test_cotangents_that_do_not_match(transform: str) -> None:
    def parts(x: Any) -> Any:
        return {"a": x * 2.0, "b": x.sum()}

    make = getattr(fgrad, transform)(parts, np.ones(3, np.float32))
    pull = make[1] if transform == "vjp" else make
    kind = errors.TangentError
    who = f"{transform} of {defined(parts)}"
    one, three = np.float32(1.0), np.ones(3, np.float32)
    refused(kind, lambda: pull((three, one)), who, "(*, *)", "{'a': *, 'b': *}", "cotangents")
    refused(kind, lambda: pull({"a": three}), who, "{'a': *}", "{'a': *, 'b': *}")
    refused(kind, lambda: pull({"a": one, "b": one}), who, "the result['a']", "shape ()", "(3,)")
    refused(kind, lambda: pull({"a": x3, "b": one}), who, "the result['a']", "float64", "float32")
    refused(
        errors.NonArrayError, lambda: pull({"a": three, "b": "c"}), who, "the result['b']", "'c'"
    )


def test_transposes_of_what_is_not_linear() -> None:
    def bent(x: Any) -> Any:
        return x * x

    message = refused(
        errors.NonLinearError,
        lambda: fgrad.linear_transpose(bent, 1.0)(1.0),
        f"linear_transpose of {defined(bent)}",
        "multiply",
        placed=False,
    )
    assert f"test_errors.py:{bent.__code__.co_firstlineno + 1} (bent)" in message


# ---- jit ---------------------------------------------------------------------------------------


def test_static_arguments() -> None:
    def reshaped(x: Any, shape: Any) -> Any:
        return x.reshape(shape)

    who = f"jit of {defined(reshaped)}"
    kind = errors.StaticArgumentError
    by_number = fgrad.jit(reshaped, static_argnums=1)
    by_name = fgrad.jit(reshaped, static_argnames="shape")
    words = (who, "static argument shape", "[3, 1]", "list", "tuple")
    refused(kind, lambda: by_number(x3, [3, 1]), *words)
    refused(kind, lambda: by_name(x3, [3, 1]), *words)
    refused(kind, lambda: by_name(x3, shape=[3, 1]), *words)
    refused(kind, lambda: by_name(x3, shape=x3), who, "shape", "array of shape (3,)")
    kind = errors.ArgnumsError
    refused(
        kind, lambda: fgrad.jit(reshaped, static_argnums=2), who, "static_argnums=2", "2 positional"
    )
    refused(kind, lambda: fgrad.jit(reshaped, static_argnums=-3), who, "static_argnums=-3")
    refused(kind, lambda: fgrad.jit(reshaped, static_argnums="shape"), who, "'shape'", "position")
    refused(kind, lambda: fgrad.jit(reshaped, static_argnames="sizes"), who, "'sizes'", "shape, x")
    refused(kind, lambda: fgrad.jit(reshaped, static_argnames=1), who, "static_argnames=1", "name")


def test_a_compiled_signature_takes_no_other() -> None:
    def scaled(x: Any) -> Any:
        return 2.0 * x["a"]

    compiled = fgrad.jit(scaled).lower({"a": x3}).compile()
    assert (compiled({"a": x3}) == 2 * x3).all()
    who = f"compiled {defined(scaled)}"
    refused(errors.ArgumentError, lambda: compiled({"b": x3}), who, "{'b': *}", "{'a': *}")
    refused(errors.ArgumentError, lambda: compiled({"a": np.ones(4)}), who)


def test_a_large_captured_constant_is_warned_about_once() -> None:
    table = np.ones(200_000)

    def lookup(x: Any) -> Any:
        return (x * table).sum()

    compiled = fgrad.jit(lookup)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        line = warnings_line()
        compiled(1.0)
        compiled(2.0)
        compiled(np.float32(2.0))
    (warning,) = caught
    message = str(warning.message)
    assert f"jit of {defined(lookup)}" in message
    assert "the captured array table of 1.5 MB" in message
    assert "(200000,)" in message
    assert "as an argument" in message
    assert_in_users_words(message)
    assert (warning.filename, warning.lineno) == (__file__, line + 1)


def warnings_line() -> int:
    import sys

    return sys._getframe(1).f_lineno


def test_a_captured_array_that_changes() -> None:
    fgrad.config.update("debug_stale", True)
    weights = np.ones(3)

    def score(x: Any) -> Any:
        return (weights * x).sum()

    compiled = fgrad.jit(score)
    assert compiled(2.0) == 6.0
    weights[0] = 5.0
    refused(
        errors.StaleConstantError,
        lambda: compiled(2.0),
        f"jit of {defined(score)}",
        "the captured array weights",
        "(3,)",
        "float64",
        "as an argument",
    )


# ---- NaN ---------------------------------------------------------------------------------------


def logarithm(x: Any) -> Any:
    shifted = x - 1.0
    return fnp.log(shifted)


@pytest.mark.parametrize(
    "call",
    [
        lambda: logarithm(0.0),
        lambda: fgrad.jit(logarithm)(0.0),
        lambda: fgrad.grad(logarithm)(0.0),
        lambda: fgrad.vmap(logarithm)(np.zeros(3)),
        lambda: fgrad.jvp(logarithm, (0.0,), (1.0,)),
        lambda: fgrad.jit(lambda x: fgrad.jit(logarithm)(x))(0.0),
    ],
    ids=["eager", "jit", "grad", "vmap", "jvp", "jit of jit"],
)
def test_a_nan_is_reported_at_its_line(call: Callable[[], Any]) -> None:
    fgrad.config.update("debug_nans", True)
    with np.errstate(invalid="ignore"):
        message = refused(errors.NanError, call, "log made a NaN", placed=False)
    assert f"test_errors.py:{logarithm.__code__.co_firstlineno + 2} (logarithm)" in message


def test_a_nan_of_a_derivative_is_reported() -> None:
    fgrad.config.update("debug_nans", True)

    def bent(x: Any) -> Any:
        return fnp.sqrt(x) ** 2

    for run in (
        lambda: fgrad.grad(bent)(0.0),
        lambda: fgrad.grad(bent)(np.float64(0.0)),
        lambda: fgrad.jit(fgrad.grad(bent))(0.0),
    ):
        refused(errors.NanError, run, placed=False)


# ---- leaves that are no arrays -----------------------------------------------------------------


@dataclasses.dataclass
class Unregistered:
    w: Any


def foreign_leaves() -> dict[str, tuple[Any, tuple[str, ...]]]:
    return {
        "string": ("relu", ("the string 'relu'", "close over it")),
        "bytes": (b"relu", ("b'relu'", "close over it")),
        "set": ({1.0}, ("{1.0}", "set")),
        "range": (range(3), ("range(0, 3)", "range")),
        "dataclass": (Unregistered(1.0), ("Unregistered", "register_dataclass")),
        "class": (Unregistered, ("Unregistered",)),
        "ellipsis": (..., ("Ellipsis",)),
    }


def transform_calls() -> dict[str, Callable[[Callable[..., Any], Any], Any]]:
    return {
        "grad": lambda f, x: fgrad.grad(f)(x),
        "value_and_grad": lambda f, x: fgrad.value_and_grad(f)(x),
        "jit": lambda f, x: fgrad.jit(f)(x),
        "vmap": lambda f, x: fgrad.vmap(f)(x),
        "jvp": lambda f, x: fgrad.jvp(f, (x,), (x,)),
        "vjp": lambda f, x: fgrad.vjp(f, x),
        "linearize": lambda f, x: fgrad.linearize(f, x),
        "linear_transpose": lambda f, x: fgrad.linear_transpose(f, x),
        "checkpoint": lambda f, x: fgrad.checkpoint(f)(x),
        "jacfwd": lambda f, x: fgrad.jacfwd(f)(x),
        "jacrev": lambda f, x: fgrad.jacrev(f)(x),
        "hessian": lambda f, x: fgrad.hessian(f)(x),
        "make_jaxpr": lambda f, x: fgrad.make_jaxpr(f)(x),
    }


each_transform = pytest.mark.parametrize("transform", sorted(transform_calls()))


def params_sum(params: Any) -> Any:
    return fnp.sum(params["a"]) * 1.0


@each_transform
@pytest.mark.parametrize("kind", sorted(foreign_leaves()))
def test_a_leaf_that_is_no_array(transform: str, kind: str) -> None:
    leaf, words = foreign_leaves()[kind]
    call = transform_calls()[transform]
    who = f"{transform} of {defined(params_sum)}"
    refused(
        errors.NonArrayError,
        lambda: call(params_sum, {"a": x3, "b": [leaf]}),
        who,
        "argument params['b'][0]",
        *words,
    )


def test_none_and_empty_containers_are_no_leaves() -> None:
    value = fgrad.grad(lambda params: params_sum(params))({"a": x3, "b": None, "c": ()})
    assert value["b"] is None
    assert value["c"] == ()


@each_transform
def test_a_result_that_is_no_array(transform: str) -> None:
    if transform in ("grad", "value_and_grad"):
        kind, words = errors.NonArrayError, ("the result", "'done'")
    else:
        kind, words = errors.NonArrayError, ("the result['a'][1]", "'done'")

    def talk(x: Any) -> Any:
        return "done" if transform in ("grad", "value_and_grad") else {"a": (x, "done")}

    call = transform_calls()[transform]
    name = {"hessian": "jacrev"}.get(transform, transform)
    name = {"jacfwd": "jvp", "jacrev": "vjp"}.get(name, name)
    refused(kind, lambda: call(talk, x3), f"{name} of {defined(talk)}", *words)


def test_arguments_of_functions_that_are_no_arrays() -> None:
    refused(errors.NonArrayError, lambda: fnp.sin("a"), "sin", "'a'")
    refused(errors.NonArrayError, lambda: fnp.sum(None), "sum", "None")
    refused(errors.NonArrayError, lambda: fnp.add(1.0, {1}), "add", "{1}")
    refused(errors.ShapeError, lambda: fnp.sin([[1.0], [1.0, 2.0]]), "sin", "nested list")


# ---- traced values in plain Python -------------------------------------------------------------


def branch(threshold: Any) -> Any:
    if threshold > 0:
        return threshold
    return -threshold


def test_a_branch_on_an_unknown_value() -> None:
    kind = errors.TracerBoolConversionError
    line = f"test_errors.py:{branch.__code__.co_firstlineno + 1} (branch)"
    words = ("argument threshold", line, "where", "cond")
    refused(
        kind, lambda: fgrad.jit(branch)(1.0), f"jit of {defined(branch)}", *words, "static_argnums"
    )
    refused(kind, lambda: fgrad.vmap(branch)(x3), f"vmap of {defined(branch)}", *words, "in_axes")
    refused(kind, lambda: fgrad.checkpoint(branch)(1.0), f"checkpoint of {defined(branch)}", *words)
    refused(kind, lambda: fgrad.make_jaxpr(branch)(1.0), f"make_jaxpr of {defined(branch)}", *words)
    refused(kind, lambda: fgrad.grad(fgrad.jit(branch))(1.0), f"jit of {defined(branch)}", *words)
    refused(kind, lambda: fgrad.jit(fgrad.grad(branch))(1.0), "jit of grad(branch)", *words)
    refused(kind, lambda: fgrad.vmap(fgrad.grad(branch))(x3), "vmap of grad(branch)", *words)
    refused(kind, lambda: fgrad.jit(branch)(np.float32(1.0)), "bool array of shape ()", *words)


def test_a_branch_on_a_known_value_is_none_of_our_business() -> None:
    assert fgrad.grad(branch)(2.0) == 1.0
    assert fgrad.grad(branch)(-2.0) == -1.0
    assert fgrad.jvp(branch, (-2.0,), (1.0,))[1] == -1.0


def test_the_arguments_that_a_value_comes_from_are_named() -> None:
    def mixed(params: Any, x: Any, unused: Any) -> Any:
        return 1.0 if params["w"] * x > 0 else 0.0

    kind = errors.TracerBoolConversionError
    for transform in (fgrad.jit, fgrad.vmap):
        arguments = ({"w": x3[:1], "b": x3[:1]}, x3[:1], x3[:1])
        message = refused(kind, lambda t=transform, a=arguments: t(mixed)(*a), "params['w'], x")
        assert "unused" not in message
        assert "'b'" not in message


def test_the_truth_of_an_array() -> None:
    for run in (
        lambda: fgrad.jit(lambda x: 1.0 if x else 2.0)(x3),
        lambda: fgrad.grad(lambda x: 1.0 if x else 2.0)(x3),
    ):
        refused(errors.ShapeError, run, "(3,)", ".any()", ".all()")


def cut(name: str) -> Callable[[Any], Any]:
    """A function that converts its argument to something that is known."""
    return {
        "np.asarray": lambda x: np.asarray(x),
        "np.array of a list": lambda x: np.array([x, 1.0]),
        "float": lambda x: float(x),
        "complex": lambda x: complex(x),
        "item": lambda x: x.item(),
        "tolist": lambda x: x.tolist(),
        "math.sin": lambda x: math.sin(x),
        "np.float64": lambda x: np.float64(x),
        "assignment": lambda x: operator.setitem(np.zeros(3), 0, x),
        "np.full": lambda x: np.full(3, x),
        "ndarray.dot": lambda x: np.ones(3).dot(x),
        "list in a function of NumPy": lambda x: np.sum([x, x]),
        "np.vectorize": lambda x: np.vectorize(lambda t: t)(x),
        "list.append": lambda x: np.array([1.0, x], dtype=float),
    }[name]


CUTS = (
    "np.asarray,np.array of a list,float,complex,item,tolist,math.sin,np.float64,assignment,np.full,"
    "ndarray.dot,list in a function of NumPy,np.vectorize,list.append"
).split(",")


@pytest.mark.parametrize("name", CUTS)
def test_a_conversion_that_would_cut_a_derivative(name: str) -> None:
    convert = cut(name)

    def slope_of(speed: Any) -> Any:
        convert(speed)
        return speed

    kind = errors.DerivativeCutError
    words = (defined(slope_of), "stop_gradient(x)", "fgrad.numpy")
    refused(kind, lambda: fgrad.grad(slope_of)(2.0), f"grad of {defined(slope_of)}", *words)
    refused(kind, lambda: fgrad.value_and_grad(slope_of)(2.0), "value_and_grad of", *words)
    refused(kind, lambda: fgrad.vjp(slope_of, 2.0), "vjp of", *words)
    refused(kind, lambda: fgrad.jvp(slope_of, (2.0,), (1.0,)), "jvp of", *words)
    refused(kind, lambda: fgrad.linearize(slope_of, 2.0), "linearize of", *words)
    refused(kind, lambda: fgrad.grad(fgrad.grad(slope_of))(2.0), *words)

    def stopped(speed: Any) -> Any:
        convert(fgrad.lax.stop_gradient(speed))
        return speed * 3.0

    assert fgrad.grad(stopped)(2.0) == 3.0
    assert fgrad.jvp(stopped, (2.0,), (1.0,))[1] == 3.0


@pytest.mark.parametrize("name", CUTS)
def test_a_conversion_of_an_unknown_value(name: str) -> None:
    convert = cut(name)

    def converted(speed: Any) -> Any:
        return convert(speed * 2.0)

    kind = errors.TracerArrayConversionError
    words = ("argument speed", "unknown while tracing", "fgrad.numpy")
    refused(
        kind,
        lambda: fgrad.jit(converted)(2.0),
        f"jit of {defined(converted)}",
        *words,
        "static_argnums",
    )
    refused(
        kind, lambda: fgrad.vmap(converted)(x3), f"vmap of {defined(converted)}", *words, "in_axes"
    )
    refused(kind, lambda: fgrad.checkpoint(converted)(2.0), "checkpoint of", *words)
    refused(kind, lambda: fgrad.jit(fgrad.grad(converted))(2.0), "jit of grad(converted)", *words)
    refused(
        kind, lambda: fgrad.grad(fgrad.jit(converted))(2.0), f"jit of {defined(converted)}", *words
    )


def whole(name: str) -> Callable[[Any], Any]:
    """A function that needs its argument as an integer."""
    return {
        "int": lambda n: int(n),
        "operator.index": lambda n: operator.index(n),
        "range": lambda n: range(n),
        "index of a list": lambda n: [1.0, 2.0, 3.0][n],
        "np.zeros": lambda n: np.zeros(n),
        "np.zeros of a shape": lambda n: np.zeros((2, n)),
        "np.ones": lambda n: np.ones(n),
        "np.empty": lambda n: np.empty(n),
        "np.eye": lambda n: np.eye(n),
        "random size": lambda n: np.random.default_rng(0).normal(size=n),
        "fnp.zeros": lambda n: fnp.zeros(n),
        "fnp.reshape": lambda n: fnp.reshape(fnp.ones(4), (n, -1)),
        "fnp.sum": lambda n: fnp.sum(fnp.ones((1, 1, 1)), axis=n),
    }[name]


WHOLES = (
    "int,operator.index,range,index of a list,np.zeros,np.zeros of a shape,np.ones,np.empty,"
    "np.eye,random size,fnp.zeros,fnp.reshape,fnp.sum"
).split(",")


@pytest.mark.parametrize("name", WHOLES)
def test_an_integer_of_unknown_value(name: str) -> None:
    needs = whole(name)

    def sized(count: Any) -> Any:
        needs(count)
        return count

    kind = errors.TracerIntegerConversionError
    words = (
        "argument count",
        "unknown while tracing" if not name.startswith("fnp") else "known while",
    )
    refused(kind, lambda: fgrad.jit(sized)(2), f"jit of {defined(sized)}", *words, "static_argnums")
    refused(
        kind,
        lambda: fgrad.vmap(sized)(np.arange(2)),
        f"vmap of {defined(sized)}",
        *words,
        "in_axes",
    )
    assert fgrad.jit(sized, static_argnums=0)(2) == 2


@pytest.mark.parametrize("name", [n for n in WHOLES if n != "int" and not n.startswith("fnp")])
def test_a_traced_float_where_an_integer_is_needed(name: str) -> None:
    needs = whole(name)

    def sized(count: Any) -> Any:
        needs(count)
        return count

    kind = errors.IndexTypeError
    refused(
        kind, lambda: fgrad.grad(sized)(2.0), f"grad of {defined(sized)}", "integer", "Python float"
    )
    refused(
        kind, lambda: fgrad.jit(sized)(2.0), f"jit of {defined(sized)}", "integer", "Python float"
    )


def test_an_index_into_a_numpy_array() -> None:
    table = np.arange(5.0)

    def lookup(i: Any) -> Any:
        return table[i]

    kind = errors.TracerArrayConversionError
    refused(kind, lambda: fgrad.jit(lookup)(2), "argument i", "fgrad.numpy.asarray(table)[i]")
    refused(
        kind,
        lambda: fgrad.vmap(lookup)(np.arange(2)),
        "argument i",
        "fgrad.numpy.asarray(table)[i]",
    )
    assert fgrad.jit(lambda i: fnp.asarray(table)[i])(2) == 2.0


def test_an_error_of_the_user_is_not_replaced() -> None:
    def careful(x: Any) -> Any:
        try:
            return float(x)
        except TypeError as error:
            raise ValueError("mine") from error

    for run in (lambda: fgrad.grad(careful)(1.0), lambda: fgrad.jit(careful)(1.0)):
        with pytest.raises(ValueError, match=r"^mine$") as caught:
            run()
        assert type(caught.value) is ValueError
        assert isinstance(caught.value.__cause__, errors.ConcretizationTypeError)

    def later(x: Any) -> Any:
        try:
            float(x)
        except TypeError:
            pass
        raise TypeError("another line")

    with pytest.raises(TypeError, match="another line"):
        fgrad.grad(later)(1.0)


def outcome(make: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    try:
        return make(), None
    except (TypeError, ValueError) as error:
        return None, error


def test_no_array_of_objects_is_ever_made() -> None:
    def lists(x: Any) -> list[Callable[[], Any]]:
        return [
            lambda: np.array([x, x]),
            lambda: np.array([[x], [1.0]]),
            lambda: np.array(x, dtype=float),
            lambda: np.asarray([x], dtype=object),
            lambda: np.stack([[x], [x]]),
            lambda: np.concatenate([[x], [1.0]]),
            lambda: np.ones(3) * [x, x, x],
            lambda: np.fromiter([x], float),
        ]

    def check(x: Any) -> Any:
        for make in lists(x):
            made, error = outcome(make)
            if error is None:
                assert getattr(made, "dtype", None) != np.dtype(object)
            else:
                chain = (error, error.__cause__)
                assert any(isinstance(e, errors.FgradError) for e in chain), error
        return x

    for run in (
        lambda: fgrad.grad(check)(1.0),
        lambda: fgrad.jit(check)(1.0),
        lambda: fgrad.vmap(check)(x3),
        lambda: fgrad.jvp(check, (1.0,), (1.0,)),
    ):
        run()


def test_the_arithmetic_of_unknown_types_names_traced_arrays() -> None:
    for run in (
        lambda: fgrad.grad(lambda x: x + None)(1.0),
        lambda: fgrad.jit(lambda x: x < "a")(1.0),
        lambda: fgrad.jit(lambda x: x(1.0))(1.0),
        lambda: fgrad.vmap(lambda x: x - object)(x3),
    ):
        with pytest.raises(TypeError) as caught:
            run()
        assert "TracedArray" in str(caught.value)
        assert_in_users_words(str(caught.value))


def test_a_traced_array_has_no_hash_and_no_pickle() -> None:
    import pickle

    kind = errors.ConcretizationTypeError
    for run in (
        lambda: fgrad.jit(lambda x: {x: 1.0})(1.0),
        lambda: fgrad.grad(lambda x: hash(x))(1.0),
    ):
        refused(kind, run, "key of a dict")
    refused(errors.TracerArrayConversionError, lambda: fgrad.jit(pickle.dumps)(1.0), "pickle")


# ---- leaks -------------------------------------------------------------------------------------


def leak_calls() -> dict[str, Callable[[Callable[..., Any]], Any]]:
    return {
        "grad": lambda f: fgrad.grad(f)(x3),
        "value_and_grad": lambda f: fgrad.value_and_grad(f)(x3),
        "jit": lambda f: fgrad.jit(f)(x3),
        "vmap": lambda f: fgrad.vmap(f)(np.ones((2, 3))),
        "jvp": lambda f: fgrad.jvp(f, (x3,), (x3,)),
        "vjp": lambda f: fgrad.vjp(f, x3),
        "linearize": lambda f: fgrad.linearize(f, x3),
        "checkpoint": lambda f: fgrad.checkpoint(f)(x3),
        "make_jaxpr": lambda f: fgrad.make_jaxpr(f)(x3),
    }


def uses() -> dict[str, Callable[[Any], Any]]:
    return {
        "operator": lambda x: x + 1.0,
        "function": lambda x: fnp.sin(x),
        "function of NumPy": lambda x: np.sin(x),
        "index": lambda x: x[0],
        "array": lambda x: np.asarray(x),
        "another transform": lambda x: fgrad.grad(lambda y: (x * y).sum())(1.0),
        "float": lambda x: float(x.sum()),
    }


@pytest.mark.parametrize("transform", sorted(leak_calls()))
@pytest.mark.parametrize("use", sorted(uses()))
def test_a_leaked_traced_array(transform: str, use: str) -> None:
    kept: list[Any] = []

    def careless(x: Any) -> Any:
        kept.append(x * 2.0)
        return (x * 3.0).sum()

    leak_calls()[transform](careless)
    refused(
        errors.LeakedTracerError,
        lambda: uses()[use](kept[0]),
        f"in {transform} of {defined(careless)}",
        "float64 array of shape (3,)",
        "after that transform had ended",
        "return it",
    )


def test_where_a_leaked_value_of_a_recorded_function_was_made() -> None:
    kept: list[Any] = []

    def careless(x: Any) -> Any:
        kept.append(x * 2.0)
        return x

    for call in (fgrad.jit(careless), fgrad.checkpoint(careless), fgrad.make_jaxpr(careless)):
        kept.clear()
        call(x3)
        made = f"made at test_errors.py:{careless.__code__.co_firstlineno + 1} (careless)"
        refused(errors.LeakedTracerError, lambda: kept[0] + 1.0, made, "from argument x")


class Model:
    state: Any = None


def leak_places() -> dict[str, tuple[Any, Any, str]]:
    """How a function keeps what it is given, how that is read, and what the message calls the place."""
    model, kept = Model(), []

    def into_attribute(x: Any) -> None:
        model.state = {"moments": [x]}

    def into_closure(x: Any) -> None:
        kept[:] = [x]

    return {
        "attribute": (
            into_attribute,
            lambda: model.state["moments"][0],
            "attribute state of a Model",
        ),
        "closure": (into_closure, lambda: kept[0], "variable kept, which "),
    }


@pytest.mark.parametrize("transform", sorted(leak_calls()))
@pytest.mark.parametrize("place", sorted(leak_places()))
def test_where_a_leaked_value_is_kept(transform: str, place: str) -> None:
    keep, read, said = leak_places()[place]

    def careless(x: Any) -> Any:
        keep(fnp.sin(x))
        return x.sum()

    leak_calls()[transform](careless)
    refused(errors.LeakedTracerError, lambda: read() + 1.0, f"in {said}", "return it")


@pytest.mark.parametrize("transform", ["grad", "vjp"])
def test_what_made_a_leaked_value_of_reverse_mode(transform: str) -> None:
    kept: list[Any] = []

    def careless(x: Any) -> Any:
        kept.append(x * 2.0)
        return x.sum()

    leak_calls()[transform](careless)
    refused(errors.LeakedTracerError, lambda: kept[0] + 1.0, "made by multiply, in ")


def test_the_bound_of_a_leaked_value_is_printed() -> None:
    kept: list[Any] = []
    fgrad.grad(lambda x: kept.append(x) or x)(1.0)
    assert "in grad of" in repr(kept[0])


@pytest.mark.parametrize("transform", ["grad", "jit", "vmap", "jvp"])
def test_a_traced_array_in_another_thread(transform: str) -> None:
    def parallel(x: Any) -> Any:
        found: list[BaseException] = []

        def work() -> None:
            try:
                x + 1.0
            except Exception as error:
                found.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        raise found[0]

    call = leak_calls()[transform]
    refused(
        errors.LeakedTracerError,
        lambda: call(parallel),
        f"in {transform} of {defined(parallel)}",
        "another thread",
    )


# ---- functions that public functions return ----------------------------------------------------


def test_functions_that_are_returned_leave_frames_of_fgrad_out() -> None:
    from fgrad.example_libraries import optimizers
    from fgrad.flatten_util import ravel_pytree

    unravel = ravel_pytree({"w": x3})[1]
    refused(errors.ShapeError, lambda: unravel(np.ones(4)), "(4,)", "expected (3,)")
    refused(errors.ArgumentError, lambda: fgrad.named_scope(3), "named_scope")  # type: ignore[arg-type]
    init, update, _ = optimizers.sgd(0.1)
    state = init({"w": x3})
    refused(errors.TreeStructureError, lambda: update(0, {"v": x3}, state), "sgd", "gradients")


def test_an_error_inside_of_a_vectorized_function_is_the_users() -> None:
    def broken(x: Any) -> Any:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine") as caught:
        fnp.vectorize(broken)(x3)
    assert assert_users_traceback(caught.value, __file__).name == "broken"
