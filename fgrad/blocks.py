"""Running a program over blocks, on several threads where that pays.

This module needs nothing but Python and NumPy: exported programs carry it along.
"""

from __future__ import annotations

import contextvars
import itertools
import os
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

_lock = threading.Lock()
_pool: Any = None
_pool_size = 0
_here = threading.local()


def flag() -> int:
    """The number of threads that the user wants; 0 for as many as there are processors."""
    told = os.environ.get("FGRAD_NUM_THREADS", "")
    return int(told) if told.isdecimal() else 0


#: Where fgrad runs, its own flag takes the place of the environment variable.
wanted_threads: Callable[[], int] = flag


def available_threads() -> int:
    """The threads to use."""
    wanted = wanted_threads()
    if wanted:
        return wanted
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def aligned_rows(count: int, size: int, dtype: Any) -> list[np.ndarray[Any, Any]]:
    """Uninitialised arrays of `size` elements that start at lines of the cache.

    Operations that cross lines at every other step take up to a quarter longer.
    """
    dtype = np.dtype(dtype)
    line = 64 // dtype.itemsize
    step = -(-size // line) * line
    memory = np.empty(count * step + line, dtype)
    first = -memory.ctypes.data % 64 // dtype.itemsize
    return [memory[first + n * step :][:size] for n in range(count)]


def run_blocks(kernel: Callable[..., Any], count: int, *args: Any) -> bool:
    """Run a kernel over `count` blocks, each thread over a share of them.

    A kernel takes the first block, the last one (left out), and the arguments; it is true if it gave up.
    What it computes for a block does not depend on the shares.
    """
    threads = min(available_threads(), count)
    if threads < 2 or getattr(_here, "inside", False):
        return bool(kernel(0, count, *args))
    bounds = [count * i // threads for i in range(threads + 1)]
    own = [(bounds[0], bounds[1])]
    shares = []
    for first, last in itertools.pairwise(bounds[1:]):
        # The handling of floating-point errors belongs to the context.
        context = contextvars.copy_context()
        try:
            shares.append(
                _threads(threads - 1).submit(context.run, _share, kernel, first, last, args)
            )
        except RuntimeError:
            # An interpreter that shuts down starts no threads, nor does a pool that gave way to a larger one.
            own.append((first, last))
    try:
        gave_up = any([kernel(first, last, *args) for first, last in own])
    finally:
        # Nobody may write into the results once they are handed on.
        errors = [share.exception() for share in shares]
    for error in errors:
        if error is not None:
            raise error
    return gave_up or any([share.result() for share in shares])


def _share(kernel: Callable[..., Any], first: int, last: int, args: Any) -> Any:
    # A worker that waited for others could wait for itself.
    _here.inside = True
    try:
        return kernel(first, last, *args)
    finally:
        _here.inside = False


def _threads(count: int) -> Any:
    """A pool of at least so many threads."""
    global _pool, _pool_size
    with _lock:
        if _pool is None or _pool_size < count:
            # Imported where it is needed: it would cost every start of a process.
            from concurrent.futures import ThreadPoolExecutor

            if _pool is not None:
                _pool.shutdown(wait=False)
            _pool, _pool_size = ThreadPoolExecutor(count, "fgrad"), count
        return _pool


def _forget_threads() -> None:
    """A forked process has none of the threads of its parent."""
    global _pool, _lock
    _pool = None
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)
