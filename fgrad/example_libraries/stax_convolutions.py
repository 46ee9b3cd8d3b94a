"""Convolutions and pooling as layers."""

# mypy: disable-error-code="no-any-return"

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fgrad import lax, random
from fgrad import numpy as fnp
from fgrad.errors import ArgumentError
from fgrad.example_libraries.stax_combinators import Layer
from fgrad.nn.initializers import glorot_normal, normal
from fgrad.transforms.make_jaxpr import eval_shape

Initializer = Callable[..., Any]
_SMALL = normal(1e-6)
Numbers = tuple[str, str, str]
Padding = str | Sequence[tuple[int, int]]


def _shape_of(
    function: Callable[..., Any], input_shape: Any, batch_axis: int, *shapes: Any
) -> tuple[int, ...]:
    """The shape of a function's result, where any number of examples stays any number."""
    given = tuple(input_shape)
    known = tuple(1 if a == batch_axis and n < 0 else n for a, n in enumerate(given))
    found = eval_shape(
        function, *[np.broadcast_to(np.float32(0), shape) for shape in (known, *shapes)]
    ).shape
    return tuple(-1 if a == batch_axis and given[a] < 0 else n for a, n in enumerate(found))


def _convolution(
    name: str,
    apply: Callable[..., Any],
    numbers: Numbers,
    out_chan: int,
    filter_shape: Sequence[int],
    W_init: Initializer | None,
    b_init: Initializer,
) -> Layer:
    lhs, rhs, out = numbers
    if len(filter_shape) != len(rhs) - 2:
        raise ArgumentError(
            f"{name}: filter_shape is {tuple(filter_shape)} for a kernel {rhs!r}; give {len(rhs) - 2} sizes"
        )
    w_init = W_init or glorot_normal(rhs.index("I"), rhs.index("O"))

    def init_fun(rng: Any, input_shape: Any) -> Any:
        if len(input_shape) != len(lhs):
            raise ArgumentError(
                f"{name}: the input has shape {tuple(input_shape)}; give one of {len(lhs)} axes, {lhs!r}"
            )
        sizes = iter(filter_shape)
        channels = {"O": out_chan, "I": input_shape[lhs.index("C")]}
        kernel = tuple(channels[c] if c in channels else next(sizes) for c in rhs)
        shape = _shape_of(apply, input_shape, lhs.index("N"), kernel)
        first, second = random.split(rng)
        bias = tuple(out_chan if c == "C" else 1 for c in out)
        return shape, (w_init(first, kernel), b_init(second, bias))

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        w, b = params
        return apply(inputs, w) + b

    return init_fun, apply_fun


def GeneralConv(
    dimension_numbers: Numbers,
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Padding = "VALID",
    W_init: Initializer | None = None,
    b_init: Initializer = _SMALL,
) -> Layer:
    """A convolution, and a sum with a number for each channel.

    Parameters
    ----------
    dimension_numbers : (str, str, str)
        Which axis is which in inputs, kernel and outputs, as ``("NHWC", "HWIO", "NHWC")``.
    out_chan : int
        How many channels there are in the output.
    filter_shape : sequence of int
    strides : sequence of int, optional
        By default 1.
    padding : str or sequence of (int, int)
        As for `fgrad.lax.conv_general_dilated`.
    W_init, b_init : callable, optional
        Of a key and a shape.

    Returns
    -------
    (init, apply)

    Raises
    ------
    ArgumentError
        If there are not as many sizes as spatial axes.

    Examples
    --------
    >>> import fgrad
    >>> from fgrad.example_libraries import stax
    >>> layer = stax.GeneralConv(("NCHW", "OIHW", "NCHW"), 8, (3, 3), padding="SAME")
    >>> layer[0](fgrad.random.key(0), (-1, 1, 28, 28))[0]
    (-1, 8, 28, 28)
    """
    steps = tuple(strides or (1,) * len(filter_shape))

    def apply(x: Any, w: Any) -> Any:
        return lax.conv_general_dilated(
            x, w, steps, padding, dimension_numbers=tuple(dimension_numbers)
        )

    return _convolution(
        "GeneralConv", apply, dimension_numbers, out_chan, filter_shape, W_init, b_init
    )


Conv = functools.partial(GeneralConv, ("NHWC", "HWIO", "NHWC"))


def GeneralConvTranspose(
    dimension_numbers: Numbers,
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Padding = "VALID",
    W_init: Initializer | None = None,
    b_init: Initializer = _SMALL,
) -> Layer:
    """A convolution that makes images larger, and a sum with a number for each channel.

    Parameters
    ----------
    dimension_numbers : (str, str, str)
        Which axis is which in inputs, kernel and outputs, as ``("NHWC", "HWIO", "NHWC")``.
    out_chan : int
        How many channels there are in the output.
    filter_shape : sequence of int
    strides : sequence of int, optional
        By what factor each spatial axis grows; by default 1.
    padding : str or sequence of (int, int)
        As for `fgrad.lax.conv_transpose`.
    W_init, b_init : callable, optional
        Of a key and a shape.

    Returns
    -------
    (init, apply)

    Raises
    ------
    ArgumentError
        If there are not as many sizes as spatial axes.

    Examples
    --------
    >>> import fgrad
    >>> from fgrad.example_libraries import stax
    >>> layer = stax.ConvTranspose(8, (3, 3), strides=(2, 2), padding="SAME")
    >>> layer[0](fgrad.random.key(0), (-1, 14, 14, 1))[0]
    (-1, 28, 28, 8)
    """
    steps = tuple(strides or (1,) * len(filter_shape))

    def apply(x: Any, w: Any) -> Any:
        return lax.conv_transpose(x, w, steps, padding, dimension_numbers=tuple(dimension_numbers))

    return _convolution(
        "GeneralConvTranspose", apply, dimension_numbers, out_chan, filter_shape, W_init, b_init
    )


Conv1DTranspose = functools.partial(GeneralConvTranspose, ("NHC", "HIO", "NHC"))
ConvTranspose = functools.partial(GeneralConvTranspose, ("NHWC", "HWIO", "NHWC"))


# ---- pooling -------------------------------------------------------------------------------------


def _pooling(
    name: str,
    reducer: Callable[..., Any],
    start: float,
    window_shape: Sequence[int],
    strides: Sequence[int] | None,
    padding: Padding,
    spec: str | None,
    mean: bool = False,
) -> Layer:
    letters = spec or "N" + "*" * len(window_shape) + "C"
    if len(letters) != len(window_shape) + 2 or not {"N", "C"} <= set(letters):
        raise ArgumentError(
            f"{name}: spec is {spec!r} for windows of shape {tuple(window_shape)}; give a letter for each axis of the "
            "inputs, with N for examples and C for channels"
        )
    outside = sorted((letters.index("N"), letters.index("C")))

    def everywhere(sizes: Sequence[int]) -> tuple[int, ...]:
        full = list(sizes)
        for place in outside:
            full.insert(place, 1)
        return tuple(full)

    window = everywhere(window_shape)
    steps = everywhere(strides or (1,) * len(window_shape))

    def pool(x: Any) -> Any:
        return lax.reduce_window(x, start, reducer, window, steps, padding)

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        found = pool(inputs)
        if not mean:
            return found
        # What a window has beyond the edges does not count.
        shape = tuple(1 if a in outside else n for a, n in enumerate(fnp.shape(inputs)))
        return found / pool(fnp.ones(shape, found.dtype))

    return lambda rng, input_shape: (_shape_of(pool, input_shape, letters.index("N")), ()), (
        apply_fun
    )


def MaxPool(
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Padding = "VALID",
    spec: str | None = None,
) -> Layer:
    """The greatest element of each window.

    Parameters
    ----------
    window_shape : sequence of int
    strides : sequence of int, optional
        By default 1.
    padding : str or sequence of (int, int)
        As for `fgrad.lax.reduce_window`.
    spec : str, optional
        Which axis is which, by default ``"NHWC"`` and its kin.

    Returns
    -------
    (init, apply)

    Raises
    ------
    ArgumentError
        If `spec` does not fit the windows.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> from fgrad.example_libraries import stax
    >>> stax.MaxPool((2,), (2,))[1]((), fnp.arange(4.0).reshape(1, 4, 1))[0, :, 0]
    Array([1., 3.], dtype=float64)
    """
    return _pooling("MaxPool", lax.max, -np.inf, window_shape, strides, padding, spec)


def SumPool(
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Padding = "VALID",
    spec: str | None = None,
) -> Layer:
    """The sum of each window.

    Parameters
    ----------
    window_shape : sequence of int
    strides : sequence of int, optional
        By default 1.
    padding : str or sequence of (int, int)
        As for `fgrad.lax.reduce_window`.
    spec : str, optional
        Which axis is which, by default ``"NHWC"`` and its kin.

    Returns
    -------
    (init, apply)

    Raises
    ------
    ArgumentError
        If `spec` does not fit the windows.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> from fgrad.example_libraries import stax
    >>> stax.SumPool((2,), (2,))[1]((), fnp.arange(4.0).reshape(1, 4, 1))[0, :, 0]
    Array([1., 5.], dtype=float64)
    """
    return _pooling("SumPool", lax.add, 0.0, window_shape, strides, padding, spec)


def AvgPool(
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Padding = "VALID",
    spec: str | None = None,
) -> Layer:
    """The mean of each window, of what it has within the edges.

    Parameters
    ----------
    window_shape : sequence of int
    strides : sequence of int, optional
        By default 1.
    padding : str or sequence of (int, int)
        As for `fgrad.lax.reduce_window`.
    spec : str, optional
        Which axis is which, by default ``"NHWC"`` and its kin.

    Returns
    -------
    (init, apply)

    Raises
    ------
    ArgumentError
        If `spec` does not fit the windows.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> from fgrad.example_libraries import stax
    >>> stax.AvgPool((2,), (2,))[1]((), fnp.arange(4.0).reshape(1, 4, 1))[0, :, 0]
    Array([0.5, 2.5], dtype=float64)
    """
    return _pooling("AvgPool", lax.add, 0.0, window_shape, strides, padding, spec, True)
