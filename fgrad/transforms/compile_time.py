"""Evaluation while a function is recorded."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from fgrad.tracing import open_body


@contextlib.contextmanager
def ensure_compile_time_eval() -> Iterator[None]:
    """Compute at once what does not depend on traced values, inside a ``with`` block.

    Under ``jit`` and in the bodies of loops, operations on known values run at once in any case; but large
    arrays that are created, random draws and effects are recorded, and happen in each call. In the block
    they happen once, while the function is recorded, and their results are known: Python code may branch
    on them. What depends on traced values is recorded as ever.

    Returns
    -------
    context manager, or decorator of a function

    Raises
    ------
    ConcretizationTypeError
        Where Python code needs the value of something that depends on a traced value of unknown value.

    Examples
    --------
    >>> import fgrad, fgrad.numpy as fnp
    >>> @fgrad.jit
    ... def f(x):
    ...     with fgrad.ensure_compile_time_eval():
    ...         table = fnp.cumsum(fnp.ones(2000))
    ...     return x * table[-1]
    >>> float(f(0.5)), len(f.lower(0.5).jaxpr.eqns)
    (1000.0, 1)
    """
    with open_body(None):
        yield
