"""Looking into running programs, under any transform."""

from __future__ import annotations

import pdb
import string
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fgrad.devices import devices
from fgrad.errors import ArgumentError
from fgrad.source_info import boundary, guard
from fgrad.transforms.callback import effect

__all__ = ["breakpoint", "callback", "inspect_array_sharding", "print", "visualize_array_sharding"]


def _check_shown(fmt: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Refuse arguments that the text does not show."""
    shown: set[int | str] = set()
    automatic = 0
    for _, field, _, _ in string.Formatter().parse(fmt):
        if field is None:
            continue
        first = field.split(".")[0].split("[")[0]
        if not first:
            shown.add(automatic)
            automatic += 1
        else:
            shown.add(int(first) if first.isdigit() else first)
    hidden = [name for name in [*range(len(args)), *kwargs] if name not in shown]
    missing = [name for name in shown if name not in [*range(len(args)), *kwargs]]
    if hidden or missing:
        problem = (
            f"does not show argument {hidden[0]}"
            if hidden
            else f"shows {missing[0]}, which is not given"
        )
        raise ArgumentError(
            f"debug.print: the text {fmt!r} {problem}; write {{}} or {{name}} where a value goes, as in "
            "debug.print('x = {}', x)"
        )


@boundary
def callback(
    callback: Callable[..., Any],
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    **kwargs: Any,
) -> None:
    """Call a function each time that the program gets here.

    Parameters
    ----------
    callback : callable
        It gets the arrays, read-only; what it returns is dropped. It is called in program order; under
        ``vmap`` once for each example, in their order; in the branch of a ``cond`` only where that is
        taken; under ``checkpoint`` not when the function runs for the second time.
    *args, **kwargs
        Trees of arrays for the function.
    ordered, partitioned : bool
        Accepted: calls are always in order.

    Examples
    --------
    >>> import fgrad
    >>> seen = []
    >>> def f(x):
    ...     fgrad.debug.callback(lambda v: seen.append(float(v)), x)
    ...     return x * x
    >>> g = fgrad.jit(fgrad.grad(f))
    >>> g(1.0), g(2.0), seen
    (Array(2., dtype=float64, weak_type=True), Array(4., dtype=float64, weak_type=True), [1.0, 2.0])
    """
    effect("debug.callback", callback, *args, **kwargs)


@boundary
def print(fmt: str, *args: Any, ordered: bool = False, **kwargs: Any) -> None:
    """Print values each time that the program gets here.

    Parameters
    ----------
    fmt : str
        A text as for ``str.format``.
    *args, **kwargs
        What goes into it: arrays, or trees of them.
    ordered : bool
        Accepted: lines are always in order.

    Raises
    ------
    ArgumentError
        If the text does not show an argument, or shows one that is not given.

    Examples
    --------
    >>> import fgrad, numpy as np
    >>> def f(x):
    ...     fgrad.debug.print("x = {x}", x=x)
    ...     return x + 1.0
    >>> fgrad.vmap(f)(np.arange(2.0))
    x = 0.0
    x = 1.0
    Array([1., 2.], dtype=float64)
    """
    _check_shown(fmt, args, kwargs)

    def write(*values: Any, **named: Any) -> None:
        sys.stdout.write(fmt.format(*values, **named) + "\n")

    effect("debug.print", write, *args, **kwargs)


@boundary
def breakpoint(*, backend: str | None = None, filter_frames: bool = True) -> None:
    """Stop in the Python debugger each time that the program gets here.

    Parameters
    ----------
    backend, filter_frames
        Accepted and ignored.

    Notes
    -----
    Compiled functions are Python code, so that one can also step into them.

    Examples
    --------
    >>> import fgrad
    >>> def f(x):
    ...     fgrad.debug.breakpoint()
    ...     return x
    >>> f(1.0)  # doctest: +SKIP
    """
    effect("debug.breakpoint", pdb.set_trace)


def inspect_array_sharding(value: Any, *, callback: Callable[[Any], Any]) -> None:
    """Tell how an array is laid out over devices: on one.

    Parameters
    ----------
    value : array_like
    callback : callable
        Called with None: there is no layout.

    Examples
    --------
    >>> import fgrad
    >>> fgrad.debug.inspect_array_sharding(1.0, callback=lambda sharding: sharding)
    """
    callback(None)


def visualize_array_sharding(arr: Any, **options: Any) -> None:
    """Print on which devices an array lies.

    Parameters
    ----------
    arr : array_like
    **options
        Accepted and ignored.

    Examples
    --------
    >>> import fgrad, fgrad.numpy as fnp
    >>> fgrad.debug.visualize_array_sharding(fnp.ones((2, 3)))
    shape (2, 3) on CPU 0
    """
    places = ", ".join(f"CPU {device.id}" for device in devices()[:1])
    sys.stdout.write(f"shape {tuple(arr.shape)} on {places}\n")


guard(sys.modules[__name__])
