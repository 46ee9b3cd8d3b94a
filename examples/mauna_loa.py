"""Gaussian-process regression of the carbon dioxide in the air at Mauna Loa.

    python examples/mauna_loa.py [--out mauna_loa.png]

The covariance of two months adds a parabola with unknown coefficients, a yearly cycle whose shape may
drift, irregularities that last for years, and noise. Its hyperparameters maximise the marginal likelihood
of the months before 1997: SciPy's L-BFGS gets all slopes at once, by reverse mode through a Cholesky
factorisation. The five years from 1997 are then forecast, unseen. The program checks the gradient against
differences, prints the hyperparameters and draws record and forecast. It ends with the error of the
forecast, and exits with status 1 if that is above the target or the 95 % band holds too few months.
"""

import argparse
import csv
import os
import sys
import time
from pathlib import Path

# Matrices of this size gain little from a second thread, and waiting for one costs much where the
# cores are busy. NumPy's OpenBLAS reads this when it is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import matplotlib

matplotlib.use("Agg")  # the picture is written to a file; no display is needed

import matplotlib.pyplot as plt
import numpy as np
import scipy.optimize

import fgrad
import fgrad.numpy as fnp
from fgrad.scipy.linalg import cho_solve, solve_triangular

DATA = Path(__file__).parent / "data" / "mauna_loa.csv"
HELD_OUT_FROM = 1997
TARGET = 1.0
#: What is fitted, with where to begin: sizes that one guesses from a plot of the record.
START = {
    "parabola, ppm": 30.0,
    "cycle, ppm": 2.0,
    "cycle, years until its shape drifts": 100.0,
    "cycle, smoothness": 1.0,
    "irregularity, ppm": 1.0,
    "irregularity, years": 2.0,
    "noise of a week, ppm": 0.2,
}


def load():
    """The middle of each month in years, how many weeks were measured in it, and their mean in ppm."""
    with DATA.open() as file:
        rows = list(csv.DictReader(file))
    columns = ("year", "month", "weeks", "ppm")
    year, month, weeks, ppm = np.array([[float(row[key]) for key in columns] for row in rows]).T
    return year + (month - 0.5) / 12, weeks, ppm


def covariance(logarithms, a, b):
    """Of the concentrations at the times a and b, for the logarithms of what is fitted."""
    parabola, cycle, drift, smoothness, irregularity, years, _ = fnp.exp(logarithms)
    product = (a - 1980) * (b - 1980) / 20**2
    apart = fnp.abs(a - b)
    yearly = 2 * (fnp.sin(np.pi * apart) / smoothness) ** 2
    return (
        parabola**2 * (1 + product + product**2)
        + cycle**2 * fnp.exp(-0.5 * (apart / drift) ** 2 - yearly)
        + irregularity**2 * fnp.exp(-apart / years)
    )


def factor(logarithms, times, weeks):
    """The Cholesky factor of the covariance of the measured months."""
    noise = fnp.exp(2 * logarithms[-1]) / weeks
    return fnp.linalg.cholesky(covariance(logarithms, times[:, None], times) + fnp.diag(noise))


def negative_log_likelihood(logarithms, times, weeks, ppm):
    """Of the measured months, with all values of the curve integrated out."""
    lower = factor(logarithms, times, weeks)
    white = solve_triangular(lower, ppm, lower=True)
    return (
        0.5 * fnp.vdot(white, white)
        + fnp.log(fnp.diag(lower)).sum()
        + 0.5 * len(times) * np.log(2 * np.pi)
    )


loss_and_grad = fgrad.jit(fgrad.value_and_grad(negative_log_likelihood))


def check_gradient(point, *data):
    """The largest relative difference from central differences, over all hyperparameters."""
    step = 1e-3
    slopes = loss_and_grad(point, *data)[1]
    for i, unit in enumerate(np.eye(len(point))):
        above, below = (loss_and_grad(point + s * unit, *data)[0] for s in (step, -step))
        difference = abs(slopes[i] - (above - below) / (2 * step))
        assert difference < 1e-5 * np.abs(slopes).max(), f"the slope of {list(START)[i]} is wrong"


def forecast(logarithms, times, weeks, ppm, later):
    """Mean and standard deviation of the concentration at later times."""
    lower = factor(logarithms, times, weeks)
    across = covariance(logarithms, times[:, None], later)
    mean = across.T @ cho_solve((lower, True), ppm)
    explained = solve_triangular(lower, across, lower=True)
    return mean, fnp.sqrt(covariance(logarithms, later, later) - (explained**2).sum(axis=0))


def repeat(times, ppm, later):
    """The forecast to beat: the last year again, raised by the mean rise of the five years before it."""
    by_month = dict(zip(np.round(times * 12 - 0.5).astype(int), ppm, strict=True))
    last = max(by_month)
    recent = [m for m in range(last - 11, last + 1) if m in by_month and m - 60 in by_month]
    rise = np.mean([by_month[m] - by_month[m - 60] for m in recent]) / 5
    months = np.round(later * 12 - 0.5).astype(int)
    years = -(-(months - last) // 12)
    return np.array([by_month[m - 12 * k] + rise * k for m, k in zip(months, years, strict=True)])


def draw(times, ppm, known, fine, mean, deviation, path):
    figure, axes = plt.subplots(figsize=(10, 4.5), layout="constrained")
    axes.fill_between(
        fine,
        mean - 1.96 * deviation,
        mean + 1.96 * deviation,
        alpha=0.3,
        label="95 % of the forecast",
    )
    axes.plot(fine, mean, linewidth=1, label="forecast")
    axes.plot(times[known], ppm[known], ".", color="black", markersize=3, label="fitted months")
    axes.plot(times[~known], ppm[~known], ".", color="tab:red", markersize=4, label="unseen months")
    axes.set(xlabel="year", ylabel="carbon dioxide (ppm)", title="Mauna Loa, 1958 to 2001")
    axes.legend(loc="upper left")
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("mauna_loa.png"), help="the picture")
    arguments = parser.parse_args()
    begin = time.perf_counter()

    times, weeks, ppm = load()
    known = times < HELD_OUT_FROM
    centre = ppm[known].mean()
    data = times[known], weeks[known], ppm[known] - centre
    start = np.log(list(START.values()))
    check_gradient(start, *data)
    result = scipy.optimize.minimize(loss_and_grad, start, args=data, jac=True, method="L-BFGS-B")
    print(
        f"{known.sum()} months; log likelihood {-loss_and_grad(start, *data)[0]:.1f} at the start, "
        f"{-result.fun:.1f} after {result.nfev} gradients in {time.perf_counter() - begin:.1f} s"
    )
    for name, value in zip(START, np.exp(result.x), strict=True):
        print(f"  {name:38} {value:8.3f}")

    fine = np.linspace(times[0], times[-1] + 5, 1500)
    curve, deviation = forecast(result.x, *data, fine)
    draw(times, ppm, known, fine, curve + centre, deviation, arguments.out)
    print(f"wrote {arguments.out}")

    unseen, later = ppm[~known], times[~known]
    mean, deviation = forecast(result.x, *data, later)
    measured = np.sqrt(deviation**2 + np.exp(2 * result.x[-1]) / weeks[~known])
    error = unseen - (mean + centre)
    inside = np.mean(np.abs(error) < 1.96 * measured)
    typical = np.sqrt(np.mean(error**2))
    beaten = np.sqrt(np.mean((unseen - repeat(times[known], ppm[known], later)) ** 2))
    print(f"last year repeated and raised: {beaten:.2f} ppm off")
    print(
        f"{len(unseen)} unseen months: forecast {typical:.2f} ppm off, {inside:.0%} of them in the "
        f"95 % band; target {TARGET:.1f} ppm"
    )
    return 0 if typical <= TARGET and inside >= 0.9 else 1


if __name__ == "__main__":
    sys.exit(main())
