"""Differentiate the graph e = (a + b) * (b + 1) in reverse and in forward mode.

    python examples/textbook_graph.py

The derivative of an output with respect to an input is the sum, over all paths between them, of
the product of the derivatives along the path. Reverse mode gathers the paths from the output and
gives every input's derivative in one sweep; forward mode gathers them from one input. The program
shows the recorded graph of each, and checks all results against the sum over paths, written out.
"""

import itertools
import math

import numpy as np

import fgrad
import fgrad.numpy as fnp


def e(a, b):
    c = a + b
    d = b + 1
    return c * d


def reverse_mode(a, b):
    """The value, de/da and de/db, from one sweep back from the output."""
    value, pullback = fgrad.vjp(e, a, b)
    return value, *pullback(fnp.ones_like(value))


def forward_mode(a, b, da, db):
    """The value, and its rate of change as (a, b) moves along (da, db)."""
    return fgrad.jvp(e, (a, b), (da, db))


def check(name, got, expected):
    np.testing.assert_allclose(got, expected, rtol=1e-12, err_msg=name)
    print(f"  {name:<42} {float(got):.10g}")


def the_graph():
    a, b = 2.0, 1.0
    print("e = (a + b) * (b + 1) as it is recorded:")
    print(fgrad.make_jaxpr(e)(a, b))
    print("\nreverse mode, one sweep for both derivatives:")
    print(fgrad.make_jaxpr(reverse_mode)(a, b))
    print("\nforward mode, one sweep for each direction:")
    print(fgrad.make_jaxpr(forward_mode)(a, b, 1.0, 0.0))

    # One path leads from a to e, through c. Two lead from b: one through c, one through d.
    c, d = a + b, b + 1
    de_da = d * 1
    de_db = d * 1 + c * 1
    print(f"\nat a = {a}, b = {b}:")
    value, by_a, by_b = reverse_mode(a, b)
    check("e", value, c * d)
    check("de/da, reverse mode", by_a, de_da)
    check("de/db, reverse mode", by_b, de_db)
    check("de/da, forward mode", forward_mode(a, b, 1.0, 0.0)[1], de_da)
    check("de/db, forward mode", forward_mode(a, b, 0.0, 1.0)[1], de_db)
    check("along (3, -2), forward mode", forward_mode(a, b, 3.0, -2.0)[1], 3 * de_da - 2 * de_db)
    check("de/da, by grad", fgrad.grad(e, argnums=0)(a, b), de_da)
    check("de/db, by grad", fgrad.grad(e, argnums=1)(a, b), de_db)


def a_value_used_twice():
    """Both uses of x in x * x are paths to the output, each with the derivative x."""
    x = 3.0
    print(f"\nx * x at x = {x}:")
    check("d(x * x)/dx, reverse mode", fgrad.grad(lambda x: x * x)(x), x + x)
    check("d(x * x)/dx, forward mode", fgrad.jvp(lambda x: x * x, (x,), (1.0,))[1], x + x)
    check("second derivative", fgrad.grad(fgrad.grad(lambda x: x * x))(x), 2.0)


def many_paths():
    """Three edges into each of four nodes in a row: 81 paths, but a sweep visits each edge once."""
    stages = 4

    def node(x):
        return fnp.sin(x) + x**2 / 4 + fnp.tanh(x)

    def row(x):
        for _ in range(stages):
            x = node(x)
        return x

    def edges(x):
        return [math.cos(x), x / 2, 1 - math.tanh(x) ** 2]

    start = x = 0.3
    slopes = []
    for _ in range(stages):
        slopes.append(edges(x))
        x = math.sin(x) + x**2 / 4 + math.tanh(x)
    paths = list(itertools.product(*slopes))
    by_paths = sum(math.prod(path) for path in paths)
    print(f"\n{stages} nodes in a row with {len(slopes[0])} edges into each, {len(paths)} paths:")
    check("sum over the paths of their products", by_paths, math.prod(map(sum, slopes)))
    check("reverse mode", fgrad.grad(row)(start), by_paths)
    check("forward mode", fgrad.jvp(row, (start,), (1.0,))[1], by_paths)


if __name__ == "__main__":
    the_graph()
    a_value_used_twice()
    many_paths()
    print("\nall derivatives equal the sums over paths")
