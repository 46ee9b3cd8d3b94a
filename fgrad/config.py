"""Configuration flags: process-wide values with scoped overrides in the current context."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

from fgrad.errors import ConfigError

_DEFAULTS: dict[str, Any] = {
    "enable_x64": True,
    "disable_jit": False,
    "check_jaxprs": False,
    "debug_nans": False,
    "debug_stale": False,
    "debug_key_reuse": False,
    "default_prng_impl": "threefry2x32",
    "explain_cache_misses": False,
    "num_cpu_devices": 1,
    "traceback_filtering": "auto",
}
_CHOICES: dict[str, tuple[Any, ...]] = {
    "default_prng_impl": ("threefry2x32", "philox", "rbg", "unsafe_rbg"),
    # The bits of threefry are those of the partitionable form, JAX's default.
    "threefry_partitionable": (None, True),
    "traceback_filtering": ("auto", "off", "tracebackhide", "remove_frames", "quiet_remove_frames"),
}
# Flags of JAX that choose hardware, precision or caches that do not exist here: accepted, kept, unused.
_INERT = (
    "platform_name",
    "platforms",
    "default_matmul_precision",
    "default_device",
    "numpy_rank_promotion",
    "numpy_dtype_promotion",
    "debug_infs",
    "log_compiles",
    "compilation_cache_dir",
    "persistent_cache_min_compile_time_secs",
    "persistent_cache_min_entry_size_bytes",
    "threefry_partitionable",
    "transfer_guard",
    "check_tracer_leaks",
    "enable_custom_prng",
)


def _short(name: str) -> str:
    for prefix in ("fgrad_", "jax_"):
        if name.startswith(prefix):
            return name[len(prefix) :]
    return name


class Config:
    """The flags of fgrad.

    Flags are read as attributes and set with `update`; names are accepted bare or with the prefix
    ``fgrad_`` or ``jax_``. An environment variable such as ``FGRAD_ENABLE_X64=0`` sets the value a
    process starts with.

    Examples
    --------
    >>> import fgrad
    >>> fgrad.config.fgrad_enable_x64
    True
    """

    # Plain attributes rather than look-ups: these are read on every operation.
    enable_x64: bool
    check_jaxprs: bool
    debug_nans: bool
    debug_key_reuse: bool
    default_prng_impl: str
    num_cpu_devices: int
    #: Whether any check of every result is on.
    checks_results: bool
    #: Changes with every update of a flag.
    version = 0

    def __init__(self) -> None:
        values: dict[str, Any] = dict(_DEFAULTS) | dict.fromkeys(_INERT)
        for name, default in _DEFAULTS.items():
            text = os.environ.get("FGRAD_" + name.upper())
            if text is not None:
                is_flag = isinstance(default, bool)
                values[name] = text.lower() in ("1", "true", "on", "yes") if is_flag else text
                if name == "num_cpu_devices":
                    values[name] = int(text)
        self.__dict__.update(values)
        self._refresh()

    def _refresh(self) -> None:
        # On the class: they are no flags.
        Config.checks_results = self.check_jaxprs or self.debug_nans
        Config.version += 1

    def __getattr__(self, name: str) -> Any:
        # Reached only for names that are not plain attributes: prefixed or unknown ones.
        short = _short(name)
        if short != name and short in self.__dict__:
            return self.__dict__[short]
        raise ConfigError(
            f"no configuration flag {name!r}; the flags are {', '.join(self.__dict__)}"
        )

    def update(self, name: str, value: Any) -> None:
        """Set a flag for the whole process.

        Parameters
        ----------
        name : str
            The flag, bare or with the prefix ``fgrad_`` or ``jax_``.
        value : object
            Its new value.

        Raises
        ------
        ConfigError
            If there is no such flag, or it does not take this value.
        """
        short = _short(name)
        if short not in self.__dict__:
            raise ConfigError(
                f"no configuration flag {name!r}; the flags are {', '.join(self.__dict__)}"
            )
        default = _DEFAULTS.get(short)
        if isinstance(default, bool) and not isinstance(value, (bool, int)):
            raise ConfigError(f"flag {name!r} takes True or False, got {value!r}")
        if short == "num_cpu_devices" and (type(value) is not int or value < 1):
            raise ConfigError(f"flag {name!r} takes a positive int, got {value!r}")
        if short in _CHOICES and value not in _CHOICES[short]:
            raise ConfigError(f"flag {name!r} takes one of {_CHOICES[short]}, got {value!r}")
        self.__dict__[short] = bool(value) if isinstance(default, bool) else value
        self._refresh()

    def key(self) -> tuple[Any, ...]:
        """The flags that change what a trace looks like: part of every trace's cache key."""
        # Written out, as this is read at every call of a compiled function; in the order of TRACE_FLAGS.
        return (self.enable_x64, self.default_prng_impl)


#: The flags of `Config.key`, by name.
TRACE_FLAGS = ("enable_x64", "default_prng_impl")
config = Config()

_jit_disabled: ContextVar[bool] = ContextVar("fgrad_jit_disabled", default=False)


def jit_is_disabled() -> bool:
    """Whether ``jit`` runs its function as it is."""
    return _jit_disabled.get() or bool(config.__dict__["disable_jit"])


@contextlib.contextmanager
def disable_jit(disable: bool = True) -> Iterator[None]:
    """Run jitted functions as plain Python inside a ``with`` block.

    Parameters
    ----------
    disable : bool
        False switches compilation on again inside an outer ``disable_jit``.

    Examples
    --------
    >>> import fgrad
    >>> with fgrad.disable_jit():
    ...     fgrad.jit(lambda x: x * 2.0 if x > 0 else x)(3.0)
    6.0
    """
    token = _jit_disabled.set(disable)
    try:
        yield
    finally:
        _jit_disabled.reset(token)


@contextlib.contextmanager
def _flag(name: str, value: Any) -> Iterator[None]:
    before = config.__dict__[name]
    config.update(name, value)
    try:
        yield
    finally:
        config.update(name, before)


def enable_x64(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """Compute in 64 bits, or with False in 32 bits, inside a ``with`` block.

    Parameters
    ----------
    new_val : bool

    Returns
    -------
    context manager
        It holds for the whole process while it is open.

    Examples
    --------
    >>> import fgrad, fgrad.numpy as fnp
    >>> with fgrad.enable_x64(False):
    ...     fnp.ones(2).dtype
    dtype('float32')
    """
    return _flag("enable_x64", bool(new_val))


def debug_nans(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """Raise an error where a NaN is made, inside a ``with`` block.

    Parameters
    ----------
    new_val : bool

    Returns
    -------
    context manager
        It holds for the whole process while it is open.

    Examples
    --------
    >>> import fgrad, fgrad.numpy as fnp
    >>> import numpy as np
    >>> with fgrad.debug_nans(), np.errstate(invalid="ignore"):
    ...     fnp.sqrt(-1.0)  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    fgrad.errors.NanError: sqrt made a NaN
    """
    return _flag("debug_nans", bool(new_val))


def default_matmul_precision(new_val: Any = None) -> contextlib.AbstractContextManager[None]:
    """Accepted for compatibility: products have full precision.

    Parameters
    ----------
    new_val : object

    Returns
    -------
    context manager

    Examples
    --------
    >>> import fgrad
    >>> with fgrad.default_matmul_precision("float32"):
    ...     pass
    """
    return _flag("default_matmul_precision", new_val)


def default_device(new_val: Any = None) -> contextlib.AbstractContextManager[None]:
    """Accepted for compatibility: there is one device.

    Parameters
    ----------
    new_val : object

    Returns
    -------
    context manager

    Examples
    --------
    >>> import fgrad
    >>> with fgrad.default_device(fgrad.devices()[0]):
    ...     pass
    """
    return _flag("default_device", new_val)


def checking_leaks() -> contextlib.AbstractContextManager[None]:
    """Accepted for compatibility: the use of a leaked tracer is always an error.

    Returns
    -------
    context manager

    Examples
    --------
    >>> import fgrad
    >>> with fgrad.checking_leaks():
    ...     pass
    """
    return _flag("check_tracer_leaks", True)
