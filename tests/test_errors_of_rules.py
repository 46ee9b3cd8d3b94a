"""Rules of users that take other arguments than they are called with."""

from __future__ import annotations

from typing import Any

import pytest
from support.refusals import refusal

import fgrad
from fgrad import custom_batching, errors


def check(run: Any, *words: str) -> None:
    refusal(errors.ArgumentError, run, *words, file=__file__)


def product(x: Any, y: Any) -> Any:
    return x * y


def place(f: Any) -> str:
    return f"(test_errors_of_rules.py:{f.__code__.co_firstlineno})"


def test_a_backward_rule_is_given_residuals_and_the_cotangent() -> None:
    f = fgrad.custom_vjp(product)
    backward = lambda x, y, ct: (ct * y, ct * x)  # noqa: E731
    f.defvjp(lambda x, y: (x * y, (x, y)), backward)
    check(
        lambda: fgrad.grad(f)(1.0, 2.0),
        f"custom_vjp of product {place(product)}: the backward rule <lambda> {place(backward)} gets 2 "
        "arguments, the residuals and the cotangent of the answer, but its signature is <lambda>(x, y, ct)",
    )


def test_a_rule_is_given_the_settings_first() -> None:
    f = fgrad.custom_vjp(product, nondiff_argnums=(1,))
    f.defvjp(lambda x, y: (x * y, x), lambda x, ct: (ct,))
    check(lambda: fgrad.grad(f)(1.0, 2.0), "gets 3 arguments, y, the residuals and the cotangent")


def test_a_forward_rule_is_given_the_arguments() -> None:
    f = fgrad.custom_vjp(product)
    f.defvjp(lambda x: (x, x), lambda x, ct: (ct, ct))
    check(
        lambda: fgrad.grad(f)(1.0, 2.0),
        "the forward rule <lambda>",
        "gets 2 arguments, x and y, but its signature is <lambda>(x)",
    )


def test_a_jvp_rule_is_given_primals_and_tangents() -> None:
    f = fgrad.custom_jvp(product)

    @f.defjvp
    def rule(primals: Any) -> Any:
        return primals

    check(
        lambda: fgrad.jvp(f, (1.0, 2.0), (1.0, 1.0)),
        f"the jvp rule rule {place(rule)} gets 2 arguments, the primals and the tangents, but",
        "rule(primals",
    )


def test_rules_of_defjvps_are_given_tangent_answer_and_arguments() -> None:
    f = fgrad.custom_jvp(product)
    f.defjvps(lambda x_dot, answer: x_dot, None)
    check(
        lambda: fgrad.jvp(f, (1.0, 2.0), (1.0, 1.0)),
        "gets 4 arguments, the tangent, the answer, x and y, but",
        "<lambda>(x_dot, answer)",
    )


def test_a_gradient_function_is_given_the_cotangent() -> None:
    f = fgrad.custom_gradient(lambda x: (x * x, lambda: 2.0 * x))
    for run in (lambda: fgrad.grad(f)(1.0), lambda: fgrad.jit(fgrad.grad(f))(1.0)):
        check(
            run, "custom_gradient of <lambda>", "gets 1 argument, the cotangent of the value", "()"
        )


def test_a_batching_rule_is_given_the_size_and_the_marks() -> None:
    f = custom_batching.custom_vmap(product)

    @f.def_vmap
    def rule(size: Any, in_batched: Any) -> Any:
        return size, True

    check(
        lambda: fgrad.vmap(f)(fgrad.numpy.ones(3), fgrad.numpy.ones(3)),
        f"the batching rule rule {place(rule)} gets 4 arguments, the size of the axis, which arguments are "
        "batched, x and y, but",
    )


def test_an_error_inside_of_a_rule_is_its_own() -> None:
    def broken(residuals: Any, ct: Any) -> Any:
        raise TypeError("mine")

    f = fgrad.custom_vjp(product)
    f.defvjp(lambda x, y: (x * y, None), broken)
    with pytest.raises(TypeError, match=r"^mine$"):
        fgrad.grad(f)(1.0, 2.0)
    g = fgrad.custom_gradient(lambda x: (x, lambda ct: broken(None, ct)))
    with pytest.raises(TypeError, match=r"^mine$"):
        fgrad.grad(g)(1.0)
