"""Differentiate a fixed point without differentiating the iteration that finds it.

    python examples/fixed_point.py

A layer of a deep equilibrium network is the solution z of z = tanh(W z + U x + b). `custom_vjp` gives it
the derivative of the implicit function theorem: the cotangent solves a linear fixed-point equation of
its own, so that the backward pass needs the solution alone and none of the steps. The program compares the
gradient with that of the unrolled iteration and with differences, prints the memory that both need, and
ends with the largest difference between the two gradients.
"""

import sys
import tracemalloc

import numpy as np

import fgrad
import fgrad.numpy as fnp
from fgrad import lax

SIZE, STEPS = 60, 200
TARGET = 1e-10


def layer(params, x, z):
    return fnp.tanh(params["w"] @ z + params["u"] @ x + params["b"])


def iterate(f, z):
    """Apply `f` until nothing changes any more."""

    def moves(carry):
        before, after = carry
        return fnp.max(fnp.abs(after - before)) > 1e-14

    return lax.while_loop(moves, lambda carry: (carry[1], f(carry[1])), (z, f(z)))[1]


@fgrad.custom_vjp
def equilibrium(params, x):
    return iterate(lambda z: layer(params, x, z), fnp.zeros(SIZE))


def equilibrium_forward(params, x):
    z = equilibrium(params, x)
    return z, (params, x, z)


def equilibrium_backward(kept, ct):
    # With J the slope of the layer in z, the cotangent u of the equation solves u = ct + J^T u.
    params, x, z = kept
    _, pull_z = fgrad.vjp(lambda z: layer(params, x, z), z)
    u = iterate(lambda u: ct + pull_z(u)[0], ct)
    _, pull_inputs = fgrad.vjp(lambda params, x: layer(params, x, z), params, x)
    return pull_inputs(u)


equilibrium.defvjp(equilibrium_forward, equilibrium_backward)


def unrolled(params, x):
    z = fnp.zeros(SIZE)
    for _ in range(STEPS):
        z = layer(params, x, z)
    return z


def loss(solve):
    return lambda params, x: fnp.sum(fnp.cos(solve(params, x)))


def peak_memory(function, *args):
    tracemalloc.start()
    result = function(*args)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return result, peak


def main():
    rng = np.random.default_rng(0)
    w = rng.standard_normal((SIZE, SIZE))
    # A contraction, so that there is one fixed point.
    params = {
        "w": 0.8 * w / np.linalg.norm(w, 2),
        "u": rng.standard_normal((SIZE, 5)),
        "b": np.ones(SIZE),
    }
    x = rng.standard_normal(5)

    implicit, small = peak_memory(fgrad.grad(loss(equilibrium)), params, x)
    direct, large = peak_memory(fgrad.grad(loss(unrolled)), params, x)
    print(f"peak memory: implicit {small / 1e3:.0f} kB, unrolled {large / 1e3:.0f} kB")

    step = 1e-6
    direction = rng.standard_normal(SIZE)
    values = [
        loss(equilibrium)({**params, "b": params["b"] + sign * step * direction}, x)
        for sign in (1, -1)
    ]
    by_difference = (values[0] - values[1]) / (2 * step)
    print(
        f"along one direction: implicit {implicit['b'] @ direction:.9f}, difference {by_difference:.9f}"
    )

    jitted = fgrad.jit(fgrad.vmap(fgrad.grad(loss(equilibrium), 1), in_axes=(None, 0)))
    batch = rng.standard_normal((8, 5))
    for row, each in zip(jitted(params, batch), batch, strict=True):
        assert np.allclose(row, fgrad.grad(loss(equilibrium), 1)(params, each), atol=1e-10)
    print("the compiled gradients of a batch agree with those of its rows")

    difference = max(np.abs(implicit[name] - direct[name]).max() for name in params)
    print(
        f"largest difference of implicit and unrolled gradients: {difference:.1e}; target {TARGET:.0e}"
    )
    return 0 if difference < TARGET and small < large else 1


if __name__ == "__main__":
    sys.exit(main())
