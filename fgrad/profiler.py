"""Profiles of running programs, by the profiler of Python's standard library."""

from __future__ import annotations

import contextlib
import cProfile
import os
import sys as _sys
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from fgrad.errors import ArgumentError
from fgrad.source_info import function_name
from fgrad.source_info import guard as _guard
from fgrad.transforms.named import named_call, named_scope

__all__ = [
    "StepTraceAnnotation",
    "TraceAnnotation",
    "annotate_function",
    "start_server",
    "start_trace",
    "stop_server",
    "stop_trace",
    "trace",
]

F = TypeVar("F", bound=Callable[..., Any])

#: The profile that is being made, and where it goes.
_running: tuple[cProfile.Profile, str] | None = None


def start_trace(
    log_dir: str | os.PathLike[str],
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: Any = None,
) -> None:
    """Begin to count and time all calls of functions in this thread.

    Compiled functions are Python code, and appear with what they call.

    Parameters
    ----------
    log_dir : path
        The folder for the profile: a file ``<time>.pstats`` for the module `pstats`.
    create_perfetto_link, create_perfetto_trace, profiler_options
        Accepted for compatibility, without effect.

    Raises
    ------
    ArgumentError
        If a profile is being made already.

    Examples
    --------
    >>> import fgrad, fgrad.numpy as fnp, os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fgrad.profiler.start_trace(folder)
    ...     y = fnp.sin(fnp.ones(3))
    ...     fgrad.profiler.stop_trace()
    ...     len(os.listdir(folder))
    1
    """
    global _running
    if _running is not None:
        raise ArgumentError(
            f"start_trace: a profile is being made, for {_running[1]!r}; call stop_trace before"
        )
    profile, folder = cProfile.Profile(), os.fspath(log_dir)
    # It raises where another profiler is at work: then there is nothing to stop.
    profile.enable()
    _running = profile, folder


def stop_trace() -> None:
    """End the profile that `start_trace` began, and write it.

    Raises
    ------
    ArgumentError
        If no profile is being made.

    Examples
    --------
    >>> import fgrad
    >>> fgrad.profiler.stop_trace()  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    fgrad.errors.ArgumentError: stop_trace: no profile is being made
    """
    global _running
    if _running is None:
        raise ArgumentError("stop_trace: no profile is being made; call start_trace before")
    profile, folder = _running
    _running = None
    profile.disable()
    os.makedirs(folder, exist_ok=True)
    profile.dump_stats(os.path.join(folder, f"{time.time_ns()}.pstats"))


@contextlib.contextmanager
def trace(
    log_dir: str | os.PathLike[str],
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: Any = None,
) -> Iterator[None]:
    """Profile the calls in a ``with`` block, as `start_trace` and `stop_trace` do.

    Parameters
    ----------
    log_dir : path
        The folder for the profile.
    create_perfetto_link, create_perfetto_trace, profiler_options
        Accepted for compatibility, without effect.

    Examples
    --------
    >>> import fgrad, fgrad.numpy as fnp, tempfile
    >>> with tempfile.TemporaryDirectory() as folder, fgrad.profiler.trace(folder):
    ...     y = fnp.sin(fnp.ones(3))
    """
    start_trace(log_dir)
    try:
        yield
    finally:
        stop_trace()


class TraceAnnotation(named_scope):
    """A name for a part of a program, as `named_scope` gives it.

    Parameters
    ----------
    name : str
    **metadata
        Accepted and ignored.

    Examples
    --------
    >>> import fgrad, fgrad.numpy as fnp
    >>> with fgrad.profiler.TraceAnnotation("wave"):
    ...     y = fnp.sin(0.0)
    """

    def __init__(self, name: str, **metadata: Any) -> None:
        super().__init__(name)

    def _recreate_cm(self) -> TraceAnnotation:
        return type(self)(self.name)


class StepTraceAnnotation(TraceAnnotation):
    """A name for a step of training, as `TraceAnnotation`.

    Parameters
    ----------
    name : str
    **metadata
        Such as ``step_num``: accepted and ignored.

    Examples
    --------
    >>> import fgrad
    >>> for step in range(2):
    ...     with fgrad.profiler.StepTraceAnnotation("train", step_num=step):
    ...         pass
    """


def annotate_function(func: F, name: str | None = None, **metadata: Any) -> F:
    """Make the operations of a function be recorded under a name, as `named_call` does.

    Parameters
    ----------
    func : callable
    name : str, optional
        That of the function by default.
    **metadata
        Accepted and ignored.

    Returns
    -------
    callable

    Examples
    --------
    >>> import fgrad, fgrad.numpy as fnp
    >>> float(fgrad.profiler.annotate_function(fnp.exp, name="growth")(0.0))
    1.0
    """
    return named_call(func, name=function_name(func) if name is None else name)  # type: ignore[return-value]


def start_server(port: int) -> None:
    """Refuse: profiles are written to files, and nothing listens.

    Parameters
    ----------
    port : int

    Raises
    ------
    ArgumentError
        In any case.

    Examples
    --------
    >>> import fgrad
    >>> fgrad.profiler.start_server(9999)  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    fgrad.errors.ArgumentError: start_server: there is no server
    """
    raise ArgumentError(
        "start_server: there is no server for profiles; write them with fgrad.profiler.trace(folder)"
    )


def stop_server() -> None:
    """Do nothing: no server runs.

    Examples
    --------
    >>> import fgrad
    >>> fgrad.profiler.stop_server()
    """


_guard(_sys.modules[__name__])
