"""Which cores and how many threads a measurement may use.

The threads of XLA and those of NumPy's BLAS disturb each other in one process, so a process that
runs both is held to one core.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
# These override what OpenBLAS finds out about the processor, mostly for the worse.
OPENBLAS_OVERRIDES = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
# Without cached bytecode, what starts is Python's compiler, and only for packages run from source.
BYTECODE_VARIABLES = ("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX")


def environment(one_core: bool) -> dict[str, str]:
    """The environment of a process to measure in; the libraries read it when they are imported."""
    dropped = {*THREAD_VARIABLES, *OPENBLAS_OVERRIDES, *BYTECODE_VARIABLES}
    result = {name: value for name, value in os.environ.items() if name not in dropped}
    result["JAX_PLATFORMS"] = "cpu"
    if one_core:
        result.update(dict.fromkeys(THREAD_VARIABLES, "1"))
        flags = [result.get("XLA_FLAGS", ""), "--xla_cpu_multi_thread_eigen=false"]
        result["XLA_FLAGS"] = " ".join(filter(None, flags))
    return result


@contextmanager
def pinned_to_one_core() -> Iterator[bool]:
    """Hold this process to one core; False where the system has no such call (macOS, Windows)."""
    if not hasattr(os, "sched_setaffinity"):
        yield False
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        yield True
    finally:
        os.sched_setaffinity(0, allowed)
