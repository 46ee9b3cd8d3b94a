"""What derivative rules cost: ``python -m benchmarks.rules [--all] [name ...]``.

Each primitive's vjp and jvp, at a size where its own work counts, in forward passes of the same
primitive: medians of the CPU time of this thread. Those above the limit are listed, or all of them.
Primitives whose forward pass is a view, and costs nothing, are left out.
"""

import argparse
import functools
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import fgrad
import fgrad.numpy as fnp
from benchmarks.cores import environment, pinned_to_one_core
from fgrad.primitives.cumulative import Cumlogsumexp, Cummax, Cummin, Cumprod
from fgrad.primitives.families import SINGLETONS
from fgrad.primitives.norms import EuclideanNorm
from fgrad.primitives.reduction import LogSumExp
from fgrad.primitives.solve import triangular_solve

LIMIT = 5.0
REPEATS = 7
SIZE = 200_000

rng = np.random.default_rng(0)
unit = rng.uniform(0.1, 0.9, SIZE)
other = rng.uniform(0.1, 0.9, SIZE)
table = rng.uniform(0.5, 1.5, (700, 700))
matrix = rng.standard_normal((200, 200)) + 20.0 * np.eye(200)
positive = matrix @ matrix.T
sides = rng.standard_normal((200, 50))
places = rng.integers(0, SIZE, SIZE)
spread = rng.permutation(SIZE)
flags = unit < 0.5

# Where (0.1, 0.9) is outside of the domain, or an order must be an integer.
ARGUMENTS = {
    "arccosh": (1.0 + unit,),
    "ldexp": (unit, np.full(SIZE, 3)),
    "expn": (np.full(SIZE, 2), unit),
    "polygamma": (np.full(SIZE, 2), unit),
    "zeta": (1.5 + unit, unit),
}
# They have a derivative towards the last argument only.
ORDERS = {"jv", "yv", "kv", "iv", "kve", "ive", "hyp0f1", "hyp1f1", "hyp2f1"}
ORDERS |= {
    "zeta",
    "polygamma",
    "expn",
    "poch",
    "gammainccinv",
    "betaincinv",
    "gammaincinv",
    "gammainc_by_a",
}
ORDERS |= {"betainc", "betaincc"}


def elementwise_cases() -> dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]:
    cases = {}
    for name, primitive in SINGLETONS.items():
        if not primitive.differentiable or primitive.view:
            continue
        size = SIZE if getattr(np, name, None) or name in {"mul", "div", "sub"} else SIZE // 10
        args = ARGUMENTS.get(name) or (unit, other, unit + 1.0, unit)[: primitive.arity]
        args = tuple(a[:size] for a in args)
        if name in ORDERS:
            cases[name] = (functools.partial(primitive, *args[:-1]), args[-1:])
        else:
            cases[name] = (primitive, args)
    return cases


def array_cases() -> dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]:
    cases: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
        "select": (lambda x, y: fnp.where(flags, x, y), (unit, other)),
        "integer power": (lambda x: x**3, (unit,)),
        "clip": (lambda x: fnp.clip(x, 0.2, 0.8), (unit,)),
        "sinc": (fnp.sinc, (unit,)),
        "concatenate": (lambda x, y: fnp.concatenate([x, y]), (unit, other)),
        "pad": (lambda x: fnp.pad(x, 3), (unit,)),
        "convert": (lambda x: x.astype(np.float32), (unit,)),
        "sort": (fnp.sort, (unit,)),
        "sort rows": (lambda x: fnp.sort(x, axis=1), (table,)),
        "sort columns": (lambda x: fnp.sort(x, axis=0), (table,)),
        "median": (fnp.median, (unit,)),
        "gather": (lambda x: x[places], (unit,)),
        "gather rows": (lambda x: x[places % 700], (table[:, :50],)),
        "set": (lambda x, y: fnp.asarray(x).at[spread].set(y), (unit, other)),
        "add at": (lambda x, y: fnp.asarray(x).at[places].add(y), (unit, other)),
        "multiply at": (lambda x, y: fnp.asarray(x).at[places].multiply(y), (unit, other)),
        "max at": (lambda x, y: fnp.asarray(x).at[places].max(y), (unit, other)),
        "update a slice": (lambda x, y: fnp.asarray(x).at[10:-10].set(y), (unit, other[20:])),
        "cumsum": (fnp.cumsum, (unit,)),
        "convolve": (lambda x, y: fnp.convolve(x, y), (unit[:20_000], other[:500])),
        "matmul": (lambda x, y: x @ y, (table, table)),
        "matrix times vector": (lambda x, y: x @ y, (table, table[0])),
        "dot": (lambda x, y: x @ y, (unit, other)),
        "einsum": (lambda x, y: fnp.einsum("ij,kj->ik", x, y), (table, table)),
        "cholesky": (fnp.linalg.cholesky, (positive,)),
        "inv": (fnp.linalg.inv, (matrix,)),
        "solve": (fnp.linalg.solve, (matrix, sides)),
        "solve many small": (fnp.linalg.solve, (np.tile(matrix[:4, :4], (5000, 1, 1)),) * 2),
        "det": (fnp.linalg.det, (matrix / 20.0,)),
        "slogdet": (lambda x: fnp.linalg.slogdet(x)[1], (matrix,)),
        "qr": (fnp.linalg.qr, (matrix,)),
        "svd": (lambda x: fnp.linalg.svd(x), (matrix,)),
        "svdvals": (fnp.linalg.svdvals, (matrix,)),
        "eigh": (fnp.linalg.eigh, (positive,)),
        "eigvalsh": (fnp.linalg.eigvalsh, (positive,)),
        "eigvals": (fnp.linalg.eigvals, (matrix[:80, :80],)),
        "pinv": (fnp.linalg.pinv, (matrix[:, :100],)),
        "lstsq": (lambda a, b: fnp.linalg.lstsq(a, b)[0], (matrix[:, :100], sides)),
        "triangular solve": (lambda a, b: triangular_solve(a, b, True), (np.tril(matrix), sides)),
        "triangle": (fnp.tril, (table,)),
        "norm": (fnp.linalg.norm, (unit,)),
    }
    for axes in ((0,), (1,), (0, 1)):
        for reduction in (fnp.sum, fnp.prod, fnp.max, fnp.min, fnp.mean, fnp.var, fnp.std):
            cases[f"{reduction.__name__} over {axes}"] = (
                lambda x, f=reduction, axes=axes: f(x, axis=axes),
                (table,),
            )
        cases[f"logsumexp over {axes}"] = (LogSumExp(axes), (table,))
    cases["norms of rows"] = (EuclideanNorm((1,)), (table,))
    for axis in (0, 1):
        for cumulative in (Cumprod, Cummax, Cummin, Cumlogsumexp):
            cases[f"{cumulative.__name__} along {axis}"] = (cumulative(axis), (table,))
    return cases


def cpu_time(work: Callable[[], Any]) -> float:
    started = time.thread_time()
    work()
    return time.thread_time() - started


def costs(function: Callable[..., Any], args: tuple[Any, ...]) -> tuple[float, float, float]:
    """The time of a forward pass, and what vjp and jvp take beside it, in forward passes."""
    leaves = [a for a in args if np.asarray(a).dtype.kind in "fc"]
    at = [i for i, a in enumerate(args) if np.asarray(a).dtype.kind in "fc"]

    def f(*xs: Any) -> Any:
        whole = list(args)
        for i, x in zip(at, xs, strict=True):
            whole[i] = x
        return function(*whole)

    answer = f(*leaves)
    ones = fgrad.tree.map(fnp.ones_like, answer)
    tangents = tuple(np.ones_like(x) for x in leaves)
    works: list[Callable[[], Any]] = [
        lambda: f(*leaves),
        lambda: fgrad.vjp(f, *leaves)[1](ones),
        lambda: fgrad.jvp(f, tuple(leaves), tangents),
    ]
    times: list[list[float]] = [[], [], []]
    with np.errstate(all="ignore"):
        for _ in range(REPEATS):
            for taken, work in zip(times, works, strict=True):
                taken.append(cpu_time(work))
    forward, both, pushed = [statistics.median(t) for t in times]
    return forward, both / forward - 1.0, pushed / forward - 1.0


def run_apart() -> None:
    """Run again in a process with one thread, whose memory stays with it: fresh pages cost more than sums."""
    settled = environment(one_core=True) | {
        "MALLOC_MMAP_THRESHOLD_": str(2**30),
        "MALLOC_TRIM_THRESHOLD_": str(2**32),
    }
    command = [sys.executable, "-m", "benchmarks.rules", *sys.argv[1:], "--here"]
    sys.exit(subprocess.run(command, env=settled).returncode)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rules", description=__doc__)
    parser.add_argument(
        "names", nargs="*", help="parts of names of primitives; all if none is given"
    )
    parser.add_argument("--all", action="store_true", help="list those within the limit too")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if not arguments.here:
        run_apart()
    cases = elementwise_cases() | array_cases()
    over = measured = 0
    with pinned_to_one_core():
        for name, (function, args) in cases.items():
            if arguments.names and not any(part in name for part in arguments.names):
                continue
            forward, pull, push = costs(function, args)
            above = max(pull, push) > LIMIT
            over += above
            measured += 1
            if above or arguments.all:
                print(
                    f"{name:24} forward {forward * 1e3:8.2f} ms   vjp {pull:6.2f}   jvp {push:6.2f}"
                )
    print(f"{over} of {measured} cost more than {LIMIT:.0f} forward passes")


if __name__ == "__main__":
    main()
