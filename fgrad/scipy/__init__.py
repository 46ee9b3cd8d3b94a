"""Functions under the names of ``jax.scipy``, which are those of SciPy."""

import sys as _sys

from fgrad.scipy import (
    cluster,
    fft,
    integrate,
    interpolate,
    linalg,
    ndimage,
    optimize,
    signal,
    sparse,
    spatial,
    special,
    stats,
)
from fgrad.source_info import guard as _guard

__all__ = [
    "cluster",
    "fft",
    "integrate",
    "interpolate",
    "linalg",
    "ndimage",
    "optimize",
    "signal",
    "sparse",
    "spatial",
    "special",
    "stats",
]

_guard(
    *[module for name in __all__ if hasattr(module := globals()[name], "__all__")],
    cluster.vq,
    sparse.linalg,
    _sys.modules[__name__],
)
