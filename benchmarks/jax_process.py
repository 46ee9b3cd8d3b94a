"""JAX in a process of its own: its threads and those of NumPy's BLAS disturb each other in one.

The processes work in turn: while one is timed, the other waits for a message.
"""

from __future__ import annotations

import atexit
import functools
import multiprocessing
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from benchmarks.comparison import timed
from benchmarks.workloads import WORKLOADS


def serve(connection: Connection) -> None:
    """Answer messages: a workload and a dtype, and how many calls to time; None for the answer itself."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)

    @functools.lru_cache(1)
    def prepared(name: str, dtype: str) -> Any:
        workload = WORKLOADS[name]
        arguments = jax.device_put(workload.data(dtype))
        compiled = jax.jit(workload.program(jax, jnp))
        return lambda: jax.block_until_ready(compiled(*arguments))

    while True:
        try:
            name, dtype, calls = connection.recv()
        except EOFError:
            return
        run = prepared(name, dtype)
        if calls is None:
            connection.send(jax.tree.map(np.asarray, run()))
        else:
            connection.send(timed(run, calls))


@functools.cache
def process() -> Connection:
    """A connection to the process, started when it is asked for first."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    served = context.Process(target=serve, args=(theirs,), daemon=True)
    served.start()
    theirs.close()
    atexit.register(ours.close)
    return ours


class InJax:
    """A workload compiled by JAX: called it gives the answer, and it times itself over there."""

    def __init__(self, name: str, dtype: str) -> None:
        self.name, self.dtype = name, dtype

    def _ask(self, calls: int | None) -> Any:
        connection = process()
        connection.send((self.name, self.dtype, calls))
        return connection.recv()

    def __call__(self) -> Any:
        return self._ask(None)

    def timed(self, calls: int) -> float:
        """Seconds that one call takes there, on average over the calls."""
        return self._ask(calls)  # type: ignore[no-any-return]
