"""Arrays from files, buffers and other libraries."""

from __future__ import annotations

from typing import Any

import numpy as np

from fgrad.array import Array, snapshot, value, wrap
from fgrad.numpy._support import DTypeLike


def _read(loaded: Any) -> Any:
    return wrap(snapshot(value(loaded)))


def load(file: Any, *args: Any, **kwargs: Any) -> Any:
    """Load an array, or an archive of arrays, from a file that `save` or `savez` wrote.

    Parameters
    ----------
    file : path or file object
    *args, **kwargs
        As in ``np.load``.

    Returns
    -------
    Array, or the archive that ``np.load`` gives

    Examples
    --------
    >>> import io, fgrad.numpy as fnp
    >>> file = io.BytesIO()
    >>> fnp.save(file, fnp.arange(3))
    >>> _ = file.seek(0)
    >>> fnp.load(file)
    Array([0, 1, 2], dtype=int64)
    """
    loaded = np.load(file, *args, **kwargs)
    return _read(loaded) if isinstance(loaded, np.ndarray) else loaded


save = np.save
savez = np.savez
savez_compressed = np.savez_compressed
savetxt = np.savetxt


def loadtxt(*args: Any, **kwargs: Any) -> Array:
    """Numbers from the lines of a text file.

    Parameters
    ----------
    *args, **kwargs
        As in ``np.loadtxt``.

    Returns
    -------
    Array

    Examples
    --------
    >>> import io, fgrad.numpy as fnp
    >>> fnp.loadtxt(io.StringIO("1 2"))
    Array([1., 2.], dtype=float64)
    """
    return _read(np.loadtxt(*args, **kwargs))  # type: ignore[no-any-return]


def genfromtxt(*args: Any, **kwargs: Any) -> Array:
    """Numbers from the lines of a text file in which some are missing.

    Parameters
    ----------
    *args, **kwargs
        As in ``np.genfromtxt``.

    Returns
    -------
    Array

    Examples
    --------
    >>> import io, fgrad.numpy as fnp
    >>> fnp.genfromtxt(io.StringIO("1,,3"), delimiter=",")
    Array([ 1., nan,  3.], dtype=float64)
    """
    return _read(np.genfromtxt(*args, **kwargs))  # type: ignore[no-any-return]


def frombuffer(buffer: Any, dtype: DTypeLike = float, count: int = -1, offset: int = 0) -> Array:
    """Numbers from the bytes of a buffer.

    Parameters
    ----------
    buffer : bytes-like
        Copied if somebody can write to it.
    dtype : dtype-like
    count : int
        How many numbers; -1 means all.
    offset : int
        Where to begin, in bytes.

    Returns
    -------
    Array

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.frombuffer(bytes([1, 2]), dtype="uint8")
    Array([1, 2], dtype=uint8)
    """
    return _read(np.frombuffer(buffer, np.dtype(dtype), count, offset))  # type: ignore[no-any-return]


def fromiter(iter: Any, dtype: DTypeLike, count: int = -1) -> Array:
    """Numbers from an iterable.

    Parameters
    ----------
    iter : iterable
    dtype : dtype-like
    count : int
        How many numbers; -1 means all.

    Returns
    -------
    Array

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.fromiter((i * i for i in range(3)), dtype=int)
    Array([0, 1, 4], dtype=int64)
    """
    return _read(np.fromiter(iter, np.dtype(dtype), count))  # type: ignore[no-any-return]


def fromstring(string: str, dtype: DTypeLike = float, count: int = -1, *, sep: str) -> Array:
    """Numbers from text.

    Parameters
    ----------
    string : str
    dtype : dtype-like
    count : int
        How many numbers; -1 means all.
    sep : str
        What stands between the numbers.

    Returns
    -------
    Array

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.fromstring("1 2 3", dtype=int, sep=" ")
    Array([1, 2, 3], dtype=int64)
    """
    return _read(np.fromstring(string, np.dtype(dtype), count, sep=sep))  # type: ignore[no-any-return]


def fromfile(*args: Any, **kwargs: Any) -> Array:
    """Numbers from a text or binary file.

    Parameters
    ----------
    *args, **kwargs
        As in ``np.fromfile``.

    Returns
    -------
    Array

    Examples
    --------
    >>> import os, tempfile, fgrad.numpy as fnp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "numbers")
    ...     fnp.arange(3).tofile(path)
    ...     fnp.fromfile(path, dtype="int64")
    Array([0, 1, 2], dtype=int64)
    """
    return _read(np.fromfile(*args, **kwargs))  # type: ignore[no-any-return]


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Array:
    """An array from an object of another library that speaks DLPack.

    Parameters
    ----------
    x : object
        With a ``__dlpack__`` method and its data in main memory.
    device
        Accepted for compatibility with JAX; there is one device.
    copy : bool, optional
        Memory that somebody can write to is always copied.

    Returns
    -------
    Array

    Examples
    --------
    >>> import fgrad.numpy as fnp, numpy as np
    >>> fnp.from_dlpack(np.arange(3.0))
    Array([0., 1., 2.], dtype=float64)
    """
    return _read(np.from_dlpack(x))  # type: ignore[no-any-return]
