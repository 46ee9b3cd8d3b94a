"""Fit the equations of Lotka and Volterra to 21 years of furs from Hudson Bay.

    python examples/lotka_volterra.py [--out lotka_volterra.png]

The numbers of hares and lynxes follow dh/dt = (a - b l) h and dl/dt = (d h - c) l. The four rates and
the two numbers at the start are fitted by least squares of the logarithms: SciPy's L-BFGS gets the loss
and its gradient from fgrad, which differentiates the solution of the equations by the adjoint equation.
The program checks the gradient against differences, prints the fitted rates with the standard errors
that the curvature of the loss gives, and draws data and fit. It ends with the typical relative error
of the fit, and exits with status 1 if that is above 25 %.
"""

import argparse
import csv
import sys
import time
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # the picture is written to a file; no display is needed

import matplotlib.pyplot as plt
import numpy as np
import scipy.optimize

import fgrad
import fgrad.numpy as fnp
from fgrad.experimental.ode import odeint

DATA = Path(__file__).parent / "data" / "hudson_bay.csv"
NAMES = (
    "growth of hares a",
    "hunting b",
    "death of lynxes c",
    "feeding d",
    "hares in 1900",
    "lynxes in 1900",
)
TARGET = 0.25


def load():
    with DATA.open() as file:
        rows = list(csv.DictReader(file))
    years = np.array([float(row["year"]) for row in rows])
    return years, np.array([[float(row["hare"]), float(row["lynx"])] for row in rows])


def slope(state, t, a, b, c, d):
    hares, lynxes = state
    return fnp.stack([(a - b * lynxes) * hares, (d * hares - c) * lynxes])


def solve(logarithms, years):
    """Hares and lynxes in the years, for the logarithms of the six unknowns."""
    *rates, hares, lynxes = fnp.exp(logarithms)
    return odeint(slope, fnp.stack([hares, lynxes]), years, *rates, rtol=1e-8, atol=1e-8)


def residuals(logarithms, years, counts):
    return fnp.log(solve(logarithms, years)) - fnp.log(counts)


@fgrad.jit
@fgrad.value_and_grad
def loss_and_grad(logarithms, years, counts):
    return 0.5 * fnp.sum(residuals(logarithms, years, counts) ** 2)


def fit(years, counts):
    start = np.log([0.5, 0.025, 0.8, 0.025, *counts[0]])
    step = 1e-5
    gradient = loss_and_grad(start, years, counts)[1]
    differences = [
        (
            loss_and_grad(start + step * e, years, counts)[0]
            - loss_and_grad(start - step * e, years, counts)[0]
        )
        / (2 * step)
        for e in np.eye(6)
    ]
    mismatch = np.abs(gradient - np.array(differences)).max() / np.abs(gradient).max()
    print(f"gradient by the adjoint equation against differences: {mismatch:.1e} of its size")
    assert mismatch < 1e-5
    return scipy.optimize.minimize(
        loss_and_grad, start, args=(years, counts), jac=True, method="L-BFGS-B"
    )


def standard_errors(logarithms, years, counts):
    """Of the logarithms, by the Jacobian of the residuals."""
    jacobian = fgrad.jacrev(residuals)(logarithms, years, counts).reshape(-1, 6)
    freedom = jacobian.shape[0] - 6
    variance = np.sum(residuals(logarithms, years, counts) ** 2) / freedom
    return np.sqrt(np.diag(variance * np.linalg.inv(jacobian.T @ jacobian)))


def draw(logarithms, years, counts, path):
    fine = np.linspace(years[0], years[-1], 400)
    curves = solve(logarithms, fine)
    figure, axes = plt.subplots(figsize=(9, 4), layout="constrained")
    for i, (name, color) in enumerate((("hares", "tab:blue"), ("lynxes", "tab:orange"))):
        axes.plot(fine, curves[:, i], color=color, label=f"{name}, fitted")
        axes.plot(years, counts[:, i], "o", color=color, label=f"{name}, furs")
    axes.set(xlabel="year", ylabel="thousands of furs", title="Hudson Bay Company, 1900 to 1920")
    axes.legend()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("lotka_volterra.png"), help="the picture")
    arguments = parser.parse_args()
    begin = time.perf_counter()
    years, counts = load()
    result = fit(years, counts)
    errors = standard_errors(result.x, years, counts)
    for name, logarithm, error in zip(NAMES, result.x, errors, strict=True):
        print(f"{name:18} {np.exp(logarithm):8.4f}  +- {100 * error:.0f} %")
    draw(result.x, years, counts, arguments.out)
    typical = np.sqrt(np.mean(residuals(result.x, years, counts) ** 2))
    print(f"{result.nfev} evaluations of loss and gradient, {time.perf_counter() - begin:.1f} s")
    print(f"wrote {arguments.out}")
    print(f"typical relative error of the fit: {typical:.1%}; target {TARGET:.0%}")
    return 0 if typical <= TARGET else 1


if __name__ == "__main__":
    sys.exit(main())
