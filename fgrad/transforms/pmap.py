"""``pmap`` on one machine: a compiled ``vmap`` with a named axis."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from fgrad.config import config
from fgrad.errors import MappedAxisError
from fgrad.source_info import boundary, function_text
from fgrad.transforms._arguments import check_callable
from fgrad.transforms.axis_names import named_axis
from fgrad.transforms.jit import jit
from fgrad.transforms.static import split_static
from fgrad.transforms.vmap import vmap


@boundary
def pmap(
    fun: Callable[..., Any],
    axis_name: Hashable | None = None,
    *,
    in_axes: Any = 0,
    out_axes: Any = 0,
    static_broadcasted_argnums: int | Sequence[int] = (),
    devices: Sequence[Any] | None = None,
    backend: str | None = None,
    axis_size: int | None = None,
    donate_argnums: int | Sequence[int] = (),
    global_arg_shapes: Any = None,
) -> Callable[..., Any]:
    """Map `fun` over an axis that programs for several devices lay out over the devices.

    Here all examples run on this machine, as compiled whole-array operations.

    Parameters
    ----------
    fun : callable
        A function of the part of one device.
    axis_name : hashable, optional
        A name for the axis, by which collectives such as `fgrad.lax.pmean` combine the parts.
    in_axes, out_axes : int, None or tree
        As in `fgrad.vmap`.
    static_broadcasted_argnums : int or sequence of int
        Positional arguments that are passed as they are; the function is compiled for each value.
    devices : sequence of Device, optional
        Only their number counts.
    backend, axis_size, donate_argnums, global_arg_shapes
        Accepted and ignored; the size is that of the mapped axes.

    Returns
    -------
    callable
        The mapped function.

    Raises
    ------
    MappedAxisError
        If axes do not fit the arguments, or there are more examples than devices.

    Examples
    --------
    >>> import fgrad, numpy as np
    >>> fgrad.pmap(lambda x: x - fgrad.lax.pmean(x, "i"), axis_name="i")(np.array([[1.0, 2.0]]))
    Array([[0., 0.]], dtype=float64)
    """
    check_callable(fun, "pmap")
    name = object() if axis_name is None else axis_name
    limit = config.num_cpu_devices if devices is None else len(devices)

    @functools.wraps(fun)
    def over_devices(*args: Any, **kwargs: Any) -> Any:
        dynamic, static = split_static(fun, "pmap", args, kwargs, static_broadcasted_argnums, ())
        axes = in_axes
        if isinstance(axes, (tuple, list)) and len(axes) == len(args):
            axes = tuple([axis for i, axis in enumerate(axes) if i not in static.positions])

        @functools.wraps(fun)
        def one_part(*parts: Any, **keywords: Any) -> Any:
            size = named_axis(name, "pmap").size
            if size > limit:
                raise MappedAxisError(
                    f"pmap of {function_text(fun)}: {_count(size, 'example')} for {_count(limit, 'device')}; map "
                    "over fewer, use vmap, or have more devices with "
                    f'fgrad.config.update("fgrad_num_cpu_devices", {size})'
                )
            whole, named = static.join((parts, keywords))
            return fun(*whole, **named)

        arguments, keywords = dynamic
        return vmap(one_part, axes, out_axes, name)(*arguments, **keywords)

    compiled: Callable[..., Any] = jit(over_devices, static_argnums=static_broadcasted_argnums)
    return compiled


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
