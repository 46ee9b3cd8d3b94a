"""Programs with rules of their own, written for fgrad and JAX alike, each next to the same program without.

The rules are the true derivatives. So any stack of transforms over a program may be held against JAX
over the plain one, also where JAX has no rule for it (forward mode of a ``custom_vjp``).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple


class Pair(NamedTuple):
    """Makers of the program with rules and of the plain one; both take (a, b, s)."""

    ruled: Callable[[Any, Any], Callable[..., Any]]
    plain: Callable[[Any, Any], Callable[..., Any]]


PAIRS: dict[str, Pair] = {}


def program(f: Callable[[Any, Any, bool], Callable[..., Any]]) -> None:
    PAIRS[f.__name__] = Pair(lambda lib, xp: f(lib, xp, True), lambda lib, xp: f(lib, xp, False))


@program
def rule_that_calls_its_function(lib: Any, xp: Any, ruled: bool) -> Any:
    def g(x: Any, y: Any) -> Any:
        return xp.exp(0.3 * xp.sin(x) * y)

    if ruled:
        g = lib.custom_jvp(g)

        @g.defjvp
        def rule(primals: Any, tangents: Any) -> Any:
            (x, y), (x_dot, y_dot) = primals, tangents
            answer = g(x, y)
            return answer, 0.3 * answer * (xp.cos(x) * y * x_dot + xp.sin(x) * y_dot)

    return lambda a, b, s: g(a, b) * s


@program
def rules_by_argument(lib: Any, xp: Any, ruled: bool) -> Any:
    def g(x: Any, n: Any, y: Any) -> Any:
        return x * xp.tanh(y) * n

    if ruled:
        g = lib.custom_jvp(g)
        g.defjvps(
            lambda x_dot, answer, x, n, y: x_dot * xp.tanh(y) * n,
            None,
            lambda y_dot, answer, x, n, y: x * n * y_dot * (1.0 - xp.tanh(y) ** 2),
        )
    return lambda a, b, s: xp.sum(g(a, 2.0, b), axis=0) + g(s, 3.0, s * s)


@program
def trees_backward(lib: Any, xp: Any, ruled: bool) -> Any:
    def g(p: Any, x: Any) -> Any:
        return {"y": xp.sin(p["w"] * x), "z": (p["c"] * x, xp.sum(p["w"]))}

    if ruled:
        g = lib.custom_vjp(g)

        def forward(p: Any, x: Any) -> Any:
            return g(p, x), (p, x)

        def backward(residuals: Any, ct: Any) -> Any:
            p, x = residuals
            inner = ct["y"] * xp.cos(p["w"] * x)
            c_ct = xp.sum(ct["z"][0] * x)
            w_ct = xp.sum(inner * x, axis=0) + ct["z"][1]
            return {"w": w_ct, "c": c_ct}, inner * p["w"] + ct["z"][0] * p["c"]

        g.defvjp(forward, backward)
    return lambda a, b, s: g({"w": b, "c": s}, a)


@program
def custom_in_custom(lib: Any, xp: Any, ruled: bool) -> Any:
    def inner(x: Any) -> Any:
        return xp.sin(x) * x

    def outer(x: Any, y: Any) -> Any:
        return inner(x) * inner(y) + y

    if ruled:
        slope = lib.custom_vjp(lambda x: xp.cos(x) * x + xp.sin(x))
        slope.defvjp(
            lambda x: (xp.cos(x) * x + xp.sin(x), x),
            lambda x, ct: (ct * (2.0 * xp.cos(x) - x * xp.sin(x)),),
        )
        inner = lib.custom_jvp(inner)
        inner.defjvps(lambda x_dot, answer, x: x_dot * slope(x))
        outer = lib.custom_vjp(outer)

        def forward(x: Any, y: Any) -> Any:
            return outer(x, y), (x, y, inner(x))

        def backward(residuals: Any, ct: Any) -> Any:
            x, y, inner_x = residuals
            x_ct = ct * slope(x) * inner(y)
            return x_ct, xp.sum(ct * (inner_x * slope(y) + 1.0), axis=0)

        outer.defvjp(forward, backward)
    return lambda a, b, s: outer(s * a, b)


@program
def function_argument(lib: Any, xp: Any, ruled: bool) -> Any:
    def apply(f: Any, x: Any, power: Any) -> Any:
        return f(x) ** power

    if ruled:
        twice = functools.partial(lib.custom_vjp, nondiff_argnums=(0, 2))(apply)

        def forward(f: Any, x: Any, power: Any) -> Any:
            return apply(f, x, power), x

        def backward(f: Any, power: Any, x: Any, ct: Any) -> Any:
            y, pullback = lib.vjp(f, x)
            return pullback(power * ct * y ** (power - 1))

        twice.defvjp(forward, backward)
        once = functools.partial(lib.custom_jvp, nondiff_argnums=(0, 2))(apply)

        @once.defjvp
        def rule(f: Any, power: Any, primals: Any, tangents: Any) -> Any:
            y, y_dot = lib.jvp(f, primals, tangents)
            return y**power, power * y ** (power - 1) * y_dot

    else:
        twice = once = apply
    return lambda a, b, s: twice(xp.sin, a, 3) + once(lambda x: xp.cos(x) * x, b, 2) * s


@program
def integers_among_arguments(lib: Any, xp: Any, ruled: bool) -> Any:
    def g(x: Any, n: Any) -> Any:
        return x**2 * n, n + 1

    if ruled:
        g = lib.custom_vjp(g)
        g.defvjp(
            lambda x, n: (g(x, n), (x, n)),
            lambda residuals, ct: (2.0 * residuals[0] * residuals[1] * ct[0], None),
        )
        h = lib.custom_jvp(lambda x, n: (x * n, n))
        h.defjvp(
            lambda primals, tangents: (
                h(*primals),
                (tangents[0] * primals[1], tangents[1]),
            )
        )
    else:

        def h(x: Any, n: Any) -> Any:
            return x * n, n

    def whole(a: Any, b: Any, s: Any) -> Any:
        n = xp.asarray([1, 2, 3])
        y, m = g(a, n)
        z, _ = h(b, m)
        return y + z * s

    return whole


@program
def compiled_rules(lib: Any, xp: Any, ruled: bool) -> Any:
    def g(x: Any, y: Any) -> Any:
        return xp.sin(x @ y)

    if ruled:
        g = lib.custom_jvp(lib.jit(g))

        @g.defjvp
        @lib.jit
        def rule(primals: Any, tangents: Any) -> Any:
            (x, y), (x_dot, y_dot) = primals, tangents
            return g(x, y), xp.cos(x @ y) * (x_dot @ y + x @ y_dot)

        h = lib.custom_vjp(lambda x: xp.sum(x**3))
        h.defvjp(lib.jit(lambda x: (h(x), x)), lib.jit(lambda x, ct: (3.0 * x**2 * ct,)))
    else:

        def h(x: Any) -> Any:
            return xp.sum(x**3)

    return lambda a, b, s: g(a, b) * h(b) + lib.jit(lambda x: h(x) * s)(a)


@program
def closing_over(lib: Any, xp: Any, ruled: bool) -> Any:
    """Differentiated by the last argument only: `MOVING` says so."""

    def whole(a: Any, b: Any, s: Any) -> Any:
        def g(x: Any) -> Any:
            return xp.sum(a * x) + b * x**2

        if ruled:
            by_jvp = lib.custom_jvp(g)
            by_jvp.defjvp(
                lambda primals, tangents: (
                    by_jvp(*primals),
                    xp.sum(a * tangents[0]) + 2.0 * b * primals[0] * tangents[0],
                )
            )
            return by_jvp(s)
        return g(s)

    return whole


def _swish(lib: Any, xp: Any, ruled: bool, kind: str) -> Any:
    """A function of one argument with a rule of either kind."""

    def g(x: Any) -> Any:
        return x * xp.tanh(x)

    def slope(x: Any) -> Any:
        return xp.tanh(x) + x * (1.0 - xp.tanh(x) ** 2)

    if ruled and kind == "jvp":
        g = lib.custom_jvp(g)
        g.defjvps(lambda x_dot, answer, x: x_dot * slope(x))
    elif ruled:
        g = lib.custom_vjp(g)
        g.defvjp(lambda x: (x * xp.tanh(x), x), lambda x, ct: (ct * slope(x),))
    return g


@program
def rules_in_a_scan(lib: Any, xp: Any, ruled: bool) -> Any:
    f, g = (_swish(lib, xp, ruled, kind) for kind in ("jvp", "vjp"))

    def whole(a: Any, b: Any, s: Any) -> Any:
        def step(carry: Any, x: Any) -> Any:
            carry = f(carry * x + b) * s
            return carry, g(carry)

        return lib.lax.scan(step, b, a)

    return whole


@program
def rules_in_branches(lib: Any, xp: Any, ruled: bool) -> Any:
    f, g = (_swish(lib, xp, ruled, kind) for kind in ("jvp", "vjp"))

    def whole(a: Any, b: Any, s: Any) -> Any:
        large = xp.sum(a * b) > 0.0
        y = lib.lax.cond(large, lambda x: f(x) * b, lambda x: g(x), a)
        return y + lib.lax.switch(1, [f, g, xp.sin], b * s)

    return whole


@program
def rules_in_a_loop(lib: Any, xp: Any, ruled: bool) -> Any:
    f, g = (_swish(lib, xp, ruled, kind) for kind in ("jvp", "vjp"))

    def whole(a: Any, b: Any, s: Any) -> Any:
        x = lib.lax.fori_loop(0, 3, lambda i, x: f(x) + 0.1 * g(b), b)
        return a * x * s

    return whole


@program
def loops_in_rules(lib: Any, xp: Any, ruled: bool) -> Any:
    def repeated(x: Any, y: Any) -> Any:
        return lib.lax.scan(lambda c, v: (c * xp.sin(v) + x, None), x, y)[0]

    f = g = repeated
    if ruled:
        f = lib.custom_jvp(repeated)

        @f.defjvp
        def rule(primals: Any, tangents: Any) -> Any:
            (x, y), (x_dot, y_dot) = primals, tangents

            def step(carry: Any, row: Any) -> Any:
                (c, c_dot), (v, v_dot) = carry, row
                new = c * xp.sin(v) + x
                return (new, c_dot * xp.sin(v) + c * xp.cos(v) * v_dot + x_dot), None

            (answer, answer_dot), _ = lib.lax.scan(step, (x, x_dot), (y, y_dot))
            return answer, answer_dot

        g = lib.custom_vjp(repeated)

        def forward(x: Any, y: Any) -> Any:
            def step(c: Any, v: Any) -> Any:
                return c * xp.sin(v) + x, c

            answer, states = lib.lax.scan(step, x, y)
            return answer, (y, states)

        def backward(residuals: Any, ct: Any) -> Any:
            def step(carry: Any, row: Any) -> Any:
                (c_ct, x_ct), (v, c) = carry, row
                v_ct = xp.sum(c_ct * c * xp.cos(v))
                return (c_ct * xp.sin(v), x_ct + c_ct), v_ct

            (c_ct, x_ct), y_ct = lib.lax.scan(step, (ct, 0.0 * ct), residuals, reverse=True)
            return c_ct + x_ct, y_ct

        g.defvjp(forward, backward)
    return lambda a, b, s: f(a, b) * s + g(a, b)


@program
def gradients_in_the_function(lib: Any, xp: Any, ruled: bool) -> Any:
    def f(x: Any, y: Any) -> Any:
        return xp.sin(x) * y

    def energy(x: Any) -> Any:
        return xp.sum(xp.cos(x) ** 2)

    if ruled:

        @lib.custom_gradient
        def f(x: Any, y: Any) -> Any:
            wave = xp.sin(x)
            return wave * y, lambda ct: (ct * xp.cos(x) * y, ct * wave)

        @lib.custom_gradient
        def energy(x: Any) -> Any:
            return xp.sum(xp.cos(x) ** 2), lambda ct: -2.0 * ct * xp.cos(x) * xp.sin(x)

    return lambda a, b, s: f(a * s, xp.broadcast_to(b, (2, 3))) * energy(b)


@program
def solver_of_a_closure(lib: Any, xp: Any, ruled: bool) -> Any:
    """A function argument that closes over what is differentiated, through `closure_convert`."""

    def apply(f: Any, x: Any, *extra: Any) -> Any:
        return f(x, *extra) ** 2

    if ruled:
        apply = functools.partial(lib.custom_vjp, nondiff_argnums=0)(apply)

        def forward(f: Any, x: Any, *extra: Any) -> Any:
            return f(x, *extra) ** 2, (x, extra)

        def backward(f: Any, residuals: Any, ct: Any) -> Any:
            x, extra = residuals
            y, pullback = lib.vjp(f, x, *extra)
            return pullback(2.0 * ct * y)

        apply.defvjp(forward, backward)

    def whole(a: Any, b: Any, s: Any) -> Any:
        def f(x: Any) -> Any:
            return xp.sum(xp.sin(a * x)) + s * xp.sum(x)

        converted, extra = lib.closure_convert(f, b)
        return apply(converted, b, *extra)

    return whole


#: The arguments that a program is differentiated by, where it is not all of them.
MOVING = {"closing_over": (2,)}
