"""Run programs that were written for JAX, and packages on top of it, without changing them.

After `install`, ``import jax`` gives fgrad under the names of JAX in this process, in the program and
in the packages that it imports. `uninstall` takes the names away again::

    import fgrad.compat

    fgrad.compat.install()

    import jax  # this is fgrad
    import optax  # and so is the jax in there

Programs that were not written for fgrad assume numbers of 32 bits, and that ``x[i]`` of an index out of
range is the nearest element, so that `install` sets the flags ``enable_x64`` and ``index_out_of_range``
accordingly. ``jax.__version__`` is `JAX_VERSION`, the release whose names and meanings fgrad follows.
``fgrad.compat.jax`` is the same module without `install`, for ``import fgrad.compat.jax as jax``.

The page on compatibility in the documentation lists packages that work this way, and what stops others.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from fgrad.compat import finder
from fgrad.compat.errors import CompatibilityError
from fgrad.compat.version import JAX_VERSION
from fgrad.config import config
from fgrad.source_info import guard as _guard

__all__ = ["JAX_VERSION", "CompatibilityError", "install", "is_installed", "uninstall"]

_before: dict[str, Any] = {}


def install(*, enable_x64: bool | None = None) -> None:
    """Make ``import jax`` give fgrad, in this process and from here on.

    Installing again changes nothing, except the width of numbers where `enable_x64` is given.

    Parameters
    ----------
    enable_x64 : bool, optional
        Whether numbers have 64 bits by default. When it is left out, the environment variable
        ``JAX_ENABLE_X64`` says so, as for JAX; without it they have 32 bits.

    Raises
    ------
    CompatibilityError
        If JAX itself has been imported: what was imported from it would go on to use it.

    Examples
    --------
    In a process that has not imported JAX::

        import fgrad.compat

        fgrad.compat.install(enable_x64=True)
        import jax.numpy as jnp

        assert isinstance(jnp.arange(3), fgrad.Array)
    """
    if not finder.is_installed():
        found = finder.foreign_modules()
        if found:
            name = found[0]
            place = getattr(sys.modules[name], "__file__", None) or "no file"
            raise CompatibilityError(
                f"fgrad.compat.install: {name!r} was imported before, from {place}, and what was "
                "imported from it goes on to use it; install before the first import of jax and of "
                "packages that import it"
            )
        finder.install()
        _before.update({name: config.read(name) for name in ("enable_x64", "index_out_of_range")})
        config.update("index_out_of_range", "jax")
    elif enable_x64 is None:
        return
    if enable_x64 is None:
        text = os.environ.get("JAX_ENABLE_X64", "")
        enable_x64 = text.lower() in ("1", "true", "yes", "on", "y", "t")
    config.update("enable_x64", enable_x64)


def uninstall() -> None:
    """Take the names of JAX away, and set the flags as they were before `install`.

    What was imported from them goes on to work. Without `install`, this does nothing.

    Examples
    --------
    >>> import fgrad.compat
    >>> fgrad.compat.uninstall()
    >>> fgrad.compat.is_installed()
    False
    """
    if finder.is_installed():
        finder.uninstall()
        for name, flag in _before.items():
            config.update(name, flag)
        _before.clear()


def is_installed() -> bool:
    """Whether ``import jax`` gives fgrad.

    Examples
    --------
    >>> import fgrad.compat
    >>> fgrad.compat.is_installed()
    False
    """
    return finder.is_installed()


_guard(sys.modules[__name__])
