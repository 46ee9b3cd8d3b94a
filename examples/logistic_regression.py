"""Logistic regression of handwritten digits, fitted by SciPy's own optimisers.

    python examples/logistic_regression.py

SciPy takes functions of fgrad as they are: `scipy.optimize.minimize` gets the loss with its gradient, by
`value_and_grad`, and products with the Hessian, by `jvp` of `grad`, all compiled. The weights are a tree
for the model and a vector for SciPy. The strength of the ridge is chosen on validation rows; then methods
with and without the Hessian are run to the same minimum, side by side. The program checks the gradient
and a product against differences. It ends with the norm of the gradient at the minimum and the accuracy on
rows that took no part in anything, and exits with status 1 if one of them misses its target.
"""

import gzip
import os
import sys
import time
from pathlib import Path

# Products of this size gain nothing from a second thread, and waiting for one costs much where the
# cores are busy. NumPy's OpenBLAS reads this when it is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import scipy.optimize

import fgrad
import fgrad.numpy as fnp
from fgrad.flatten_util import ravel_pytree

DATA = Path(__file__).parent / "data" / "digits.csv.gz"
VALIDATION_ROWS, TEST_ROWS = 237, 360
RIDGES = (1e-5, 1e-4, 1e-3, 1e-2)
#: What each method is given beside the loss and its gradient.
METHODS = {
    "trust-ncg": {"hessian": True, "options": {"gtol": 1e-9}},
    "Newton-CG": {"hessian": True, "options": {"xtol": 1e-12}},
    "L-BFGS-B": {"hessian": False, "options": {"gtol": 1e-9, "ftol": 0.0, "maxiter": 2000}},
}
GRADIENT_TARGET, ACCURACY_TARGET = 1e-8, 0.95


def load():
    """Pixels and digits for training, for the choice of the ridge, and for the end."""
    with gzip.open(DATA, "rt") as file:
        table = np.loadtxt(file, delimiter=",")
    table = table[np.random.default_rng(0).permutation(len(table))]
    pixels, digits = table[:, :64] / 16, table[:, 64].astype(int)
    last, cut = len(table) - TEST_ROWS, len(table) - TEST_ROWS - VALIDATION_ROWS
    parts = slice(0, cut), slice(cut, last), slice(last, None)
    return [(pixels[part], digits[part]) for part in parts]


# --- the model: functions of a tree of weights ----------------------------------------------------

FLAT, TREE_OF = ravel_pytree({"pixels": np.zeros((64, 10)), "bias": np.zeros(10)})


def scores(weights, pixels):
    return pixels @ weights["pixels"] + weights["bias"]


def loss(vector, ridge, pixels, digits):
    """Mean cross entropy, and the ridge on all but the biases."""
    weights = TREE_OF(vector)
    log_p = fgrad.nn.log_softmax(scores(weights, pixels))
    entropy = -fnp.mean(fnp.take_along_axis(log_p, digits[:, None], axis=1))
    return entropy + 0.5 * ridge * fnp.sum(weights["pixels"] ** 2)


loss_and_gradient = fgrad.jit(fgrad.value_and_grad(loss))


@fgrad.jit
def hessian_times(vector, direction, *data):
    return fgrad.jvp(lambda v: fgrad.grad(loss)(v, *data), (vector,), (direction,))[1]


# --- fits by SciPy --------------------------------------------------------------------------------


def fit(method, *data):
    how = METHODS[method]
    return scipy.optimize.minimize(
        loss_and_gradient,
        FLAT,
        args=data,
        jac=True,
        hessp=hessian_times if how["hessian"] else None,
        method=method,
        options=how["options"],
    )


def accuracy(vector, pixels, digits):
    return float(np.mean(scores(TREE_OF(vector), pixels).argmax(axis=1) == digits))


def check(*data):
    """The derivatives against differences along a line."""
    at, along = np.random.default_rng(1).standard_normal((2, FLAT.size))
    step = 1e-5
    (high, up), (low, down) = (loss_and_gradient(at + s * along, *data) for s in (step, -step))
    slope, curve = loss_and_gradient(at, *data)[1] @ along, hessian_times(at, along, *data)
    first = abs(slope - (high - low) / (2 * step)) / abs(slope)
    second = np.abs(curve - (up - down) / (2 * step)).max() / np.abs(curve).max()
    print(
        f"against differences: gradient {first:.1e}, product with the Hessian {second:.1e} of its size"
    )
    assert max(first, second) < 1e-6


def main():
    begin = time.perf_counter()
    train, validation, test = load()
    check(RIDGES[0], *train)
    shares = {}
    for ridge in RIDGES:
        shares[ridge] = accuracy(fit("trust-ncg", ridge, *train).x, *validation)
        print(
            f"ridge {ridge:.0e}: {shares[ridge]:.1%} of {VALIDATION_ROWS} validation digits right"
        )
    ridge = max(shares, key=shares.get)

    both = [np.concatenate(pair) for pair in zip(train, validation, strict=True)]
    norms, losses = {}, {}
    for method in METHODS:
        start = time.perf_counter()
        result = fit(method, ridge, *both)
        seconds = time.perf_counter() - start
        norms[method], losses[method] = float(np.abs(result.jac).max()), result.fun
        print(
            f"{method:10} {result.nit:4} iterations, {result.nfev:4} losses and gradients, "
            f"{result.get('nhev', 0):4} products, {seconds:.2f} s: loss {result.fun:.12f}, "
            f"gradient at most {norms[method]:.1e}"
        )
        if method == "trust-ncg":
            best = result
    spread = max(losses.values()) - min(losses.values())
    print(
        f"losses of the methods differ by {spread:.1e}; {time.perf_counter() - begin:.1f} s in all"
    )
    share, norm = accuracy(best.x, *test), norms["trust-ncg"]
    print(
        f"gradient at most {norm:.1e} after {best.nit} iterations, target {GRADIENT_TARGET:.0e}; "
        f"accuracy on {TEST_ROWS} unseen digits: {share:.1%}, target {ACCURACY_TARGET:.0%}"
    )
    reached = norm <= GRADIENT_TARGET and share >= ACCURACY_TARGET
    return 0 if reached and spread < 1e-9 else 1


if __name__ == "__main__":
    sys.exit(main())
