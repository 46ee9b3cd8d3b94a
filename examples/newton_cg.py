"""Newton's method without a Hessian: products with it cost two gradients.

    python examples/newton_cg.py

The Hessian of a function times a vector is the derivative of its gradient along the vector, `jvp` of
`grad`. Conjugate gradients need no more to solve for Newton's step, so that the method works where the
Hessian would not fit: here, regularised logistic regression with as many weights as pixel pairs, on the
images of handwritten digits. The program prints the progress beside that of gradient descent, checks a
product against the Hessian of a small problem, and ends with the norm of the gradient at the solution.
"""

import gzip
import sys
import time
from itertools import combinations_with_replacement
from pathlib import Path

import numpy as np

import fgrad
import fgrad.numpy as fnp
from fgrad import lax

DATA = Path(__file__).parent / "data" / "digits.csv.gz"
RIDGE = 1e-3
TARGET = 1e-8


def load():
    """Products of all pairs of pixels of the images, and whether the digit is even."""
    with gzip.open(DATA, "rt") as file:
        table = np.loadtxt(file, delimiter=",")
    pixels, even = table[:, :64] / 16, table[:, 64] % 2 == 0
    pairs = np.array(list(combinations_with_replacement(range(64), 2)))
    return pixels[:, pairs[:, 0]] * pixels[:, pairs[:, 1]], np.where(even, 1.0, -1.0)


def loss(w, features, signs):
    return fnp.mean(fnp.logaddexp(0.0, -signs * (features @ w))) + 0.5 * RIDGE * fnp.vdot(w, w)


gradient = fgrad.grad(loss)


def hessian_times(w, v, *data):
    return fgrad.jvp(lambda w: gradient(w, *data), (w,), (v,))[1]


def conjugate_gradients(product, b, tolerance):
    """The solution of ``product(x) = b`` for a positive definite product."""

    def unsolved(state):
        _, residual, _, count = state
        return (fnp.vdot(residual, residual) > tolerance**2) & (count < 200)

    def improve(state):
        x, residual, direction, count = state
        curved = product(direction)
        size = fnp.vdot(residual, residual)
        share = size / fnp.vdot(direction, curved)
        smaller = residual - share * curved
        following = smaller + fnp.vdot(smaller, smaller) / size * direction
        return x + share * direction, smaller, following, count + 1

    return lax.while_loop(unsolved, improve, (fnp.zeros_like(b), b, b, 0))[0]


@fgrad.jit
def newton_step(w, *data):
    """The step, shortened until the loss falls enough, and what it costs."""
    slope = gradient(w, *data)
    size = fnp.linalg.norm(slope)
    # Solved more exactly as the solution comes near: then convergence is faster than linear.
    tolerance = fnp.minimum(0.1, fnp.sqrt(size)) * size
    direction = conjugate_gradients(lambda v: hessian_times(w, v, *data), -slope, tolerance)
    now, fall = loss(w, *data), fnp.vdot(slope, direction)

    def too_long(length):
        return loss(w + length * direction, *data) > now + 1e-4 * length * fall + 1e-15

    length = lax.while_loop(too_long, lambda length: 0.5 * length, 1.0)
    return w + length * direction, size


@fgrad.jit
def descent_step(w, *data):
    slope = gradient(w, *data)
    return w - 4.0 * slope, fnp.linalg.norm(slope)


def main():
    features, signs = load()
    rows, weights = features.shape
    print(
        f"{rows} images, {weights} weights: the Hessian would have {weights**2 / 1e6:.1f} million entries"
    )

    few = features[:, :30], signs
    w, v = np.random.default_rng(0).standard_normal((2, 30))
    product, full = hessian_times(w, v, *few), fgrad.hessian(loss)(w, *few) @ v
    assert np.allclose(product, full, rtol=1e-10), "a product differs from the Hessian"

    sizes = {}
    for name, step, count in (("Newton", newton_step, 15), ("gradient descent", descent_step, 150)):
        w, start = np.zeros(weights), time.perf_counter()
        sizes[name] = []
        for _ in range(count):
            w, size = step(w, features, signs)
            sizes[name].append(float(size))
            if size < TARGET:
                break
        seconds = time.perf_counter() - start
        right = np.mean((features @ w > 0) == (signs > 0))
        print(
            f"{name}: {len(sizes[name])} steps in {seconds:.1f} s, loss {loss(w, features, signs):.6f}, "
            f"{right:.1%} of the images right"
        )
    last = sizes["Newton"][-1]
    print(
        f"norm of the gradient: Newton {last:.1e}, gradient descent {sizes['gradient descent'][-1]:.1e}; ",
        end="",
    )
    print(f"target {TARGET:.0e}")
    return 0 if last < TARGET else 1


if __name__ == "__main__":
    sys.exit(main())
