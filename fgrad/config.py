"""Configuration flags: process-wide values with scoped overrides in the current context."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any

from fgrad.errors import ConfigError
from fgrad.missing_names import nearest

_DEFAULTS: dict[str, Any] = {
    "enable_x64": True,
    "disable_jit": False,
    # Compiled programs as they were recorded, operation by operation: to see whether a fault is the compiler's.
    "disable_most_optimizations": False,
    "check_jaxprs": False,
    "debug_nans": False,
    "debug_stale": False,
    "debug_key_reuse": False,
    "default_prng_impl": "threefry2x32",
    "explain_cache_misses": False,
    # What reads do with an index out of range: "raise", or as in JAX, where x[i] takes the nearest element
    # and take a NaN.
    "index_out_of_range": "raise",
    "num_cpu_devices": 1,
    # The threads of compiled functions: 0 for as many as there are processors for the process.
    "num_threads": 0,
    "traceback_filtering": "auto",
}
_CHOICES: dict[str, tuple[Any, ...]] = {
    "default_prng_impl": ("threefry2x32", "philox", "rbg", "unsafe_rbg"),
    "index_out_of_range": ("raise", "jax"),
    # The bits of threefry are those of the partitionable form, JAX's default.
    "threefry_partitionable": (None, True),
    # What is looked for is NaN, by the flag debug_nans.
    "debug_infs": (None, False),
    "traceback_filtering": ("auto", "off", "tracebackhide", "remove_frames", "quiet_remove_frames"),
}
# Flags of JAX that choose hardware, precision or caches that do not exist here: accepted, kept, unused.
_INERT: dict[str, Any] = dict.fromkeys(
    (
        "array_garbage_collection_guard",
        "captured_constants_warn_bytes",
        "check_tracer_leaks",
        "compilation_cache_dir",
        "compilation_cache_max_size",
        "cpu_collectives_implementation",
        "debug_infs",
        "debug_log_modules",
        "default_device",
        "default_matmul_precision",
        "enable_compilation_cache",
        "enable_custom_prng",
        "enable_pgle",
        "exec_time_optimization_effort",
        "hlo_source_file_canonicalization_regex",
        "include_full_tracebacks_in_locations",
        "legacy_prng_key",
        "logging_level",
        "memory_fitting_effort",
        "optimization_level",
        "persistent_cache_enable_xla_caches",
        "persistent_cache_min_compile_time_secs",
        "persistent_cache_min_entry_size_bytes",
        "platform_name",
        "platforms",
        "raise_persistent_cache_errors",
        "softmax_custom_jvp",
        "spmd_mode",
        "threefry_partitionable",
        "traceback_in_locations_limit",
        "transfer_guard",
        "transfer_guard_device_to_device",
        "transfer_guard_device_to_host",
        "transfer_guard_host_to_device",
        "use_shardy_partitioner",
    )
) | {"numpy_dtype_promotion": "standard", "numpy_rank_promotion": "allow"}
# Other names of flags, as JAX has them.
_SYNONYMS = {"enable_checks": "check_jaxprs", "log_compiles": "explain_cache_misses"}
# Checks that are accepted, since correct programs run the same without them, and never happen.
_UNCHECKED = {
    "numpy_dtype_promotion": (("standard", "strict"), "dtypes are promoted by NumPy's rules"),
    "numpy_rank_promotion": (("allow", "warn", "raise"), "arrays are broadcast by NumPy's rules"),
}


def _short(name: str) -> str:
    for prefix in ("fgrad_", "jax_"):
        if name.startswith(prefix):
            name = name[len(prefix) :]
            break
    return _SYNONYMS.get(name, name)


def _no_flag(name: str, flags: Iterable[str]) -> ConfigError:
    if name.startswith("__"):
        # Asked for by what looks into any object.
        return ConfigError(f"no configuration flag {name!r}")
    near = nearest(_short(name), flags)
    hint = f"did you mean {near!r}? The" if near else "the"
    return ConfigError(f"no configuration flag {name!r}; {hint} flags are {', '.join(flags)}")


def _switch(text: str) -> bool | None:
    """The truth value that a text stands for."""
    low = text.lower()
    return (
        True
        if low in ("1", "true", "on", "yes")
        else False
        if low in ("0", "false", "off", "no")
        else None
    )


class Switches:
    """What operations read of the flags: plain attributes of a class without a search for other names."""

    __slots__ = (
        "as_numpy",
        "check_jaxprs",
        "checks_results",
        "debug_nans",
        "enable_x64",
        "narrow_dtypes",
        "unchanged",
    )
    enable_x64: bool
    check_jaxprs: bool
    debug_nans: bool
    #: Whether any check of every result is on.
    checks_results: bool
    #: Whether dtypes have come into use that NumPy does not know how to promote.
    narrow_dtypes: bool
    #: Whether an operation on arrays of NumPy's own dtypes gives what NumPy's gives: nothing is checked or cut.
    unchanged: bool
    #: The same for any arrays there are.
    as_numpy: bool

    def __init__(self) -> None:
        self.narrow_dtypes = False

    def refresh(self) -> None:
        """Work out what follows from the others."""
        self.checks_results = self.check_jaxprs or self.debug_nans
        self.unchanged = self.enable_x64 and not self.checks_results
        self.as_numpy = self.unchanged and not self.narrow_dtypes


switches = Switches()


class Config:
    """The flags of fgrad.

    Flags are attributes; assigning to one is `update`. Names are accepted bare or with the prefix
    ``fgrad_`` or ``jax_``. An environment variable such as ``FGRAD_ENABLE_X64=0`` sets the value a
    process starts with.

    Examples
    --------
    >>> import fgrad
    >>> fgrad.config.fgrad_enable_x64
    True
    """

    enable_x64: bool
    check_jaxprs: bool
    debug_nans: bool
    disable_most_optimizations: bool
    debug_key_reuse: bool
    default_prng_impl: str
    index_out_of_range: str
    num_cpu_devices: int
    num_threads: int
    #: Changes with every update of a flag.
    version = 0

    def __init__(self) -> None:
        self.__dict__.update(_DEFAULTS | _INERT)
        self._refresh()
        for name, default in _DEFAULTS.items():
            variable = "FGRAD_" + name.upper()
            text = os.environ.get(variable)
            if text is None:
                continue
            value: Any = text
            if isinstance(default, bool):
                value = _switch(text)
            elif isinstance(default, int) and text.isdecimal():
                value = int(text)
            try:
                self.update(name, text if value is None else value)
            except ConfigError as error:
                raise ConfigError(f"environment variable {variable}={text}: {error}") from None

    def optimizes(self) -> bool:
        """Whether programs are compiled to something else than the operations they were recorded with."""
        return self.enable_x64 and not self.disable_most_optimizations

    def _refresh(self) -> None:
        switches.enable_x64 = self.enable_x64
        switches.check_jaxprs = self.check_jaxprs
        switches.debug_nans = self.debug_nans
        switches.refresh()
        # On the class: it is no flag.
        Config.version += 1

    def __getattr__(self, name: str) -> Any:
        # Reached only for names that are not plain attributes: prefixed or unknown ones.
        short = _short(name)
        if short != name and short in self.__dict__:
            return self.__dict__[short]
        raise _no_flag(name, self.values)

    def __setattr__(self, name: str, value: Any) -> None:
        self.update(name, value)

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
        if short not in _DEFAULTS and short not in _INERT:
            raise _no_flag(name, self.values)
        default = _DEFAULTS.get(short)
        if short in _UNCHECKED:
            choices, instead = _UNCHECKED[short]
            if value not in choices:
                raise ConfigError(f"flag {name!r} takes one of {choices}, got {value!r}")
            if value != choices[0]:
                warnings.warn(
                    f"flag {name!r} is {value!r}, but fgrad does not check this: {instead}",
                    stacklevel=2,
                )
        if isinstance(default, bool) and not isinstance(value, (bool, int)):
            raise ConfigError(f"flag {name!r} takes True or False, got {value!r}")
        if short == "num_cpu_devices" and (type(value) is not int or value < 1):
            raise ConfigError(f"flag {name!r} takes a positive int, got {value!r}")
        if short == "num_threads" and (type(value) is not int or value < 0):
            raise ConfigError(f"flag {name!r} takes an int, 0 for all processors, got {value!r}")
        if short in _CHOICES and value not in _CHOICES[short]:
            raise ConfigError(f"flag {name!r} takes one of {_CHOICES[short]}, got {value!r}")
        self.__dict__[short] = bool(value) if isinstance(default, bool) else value
        self._refresh()

    def read(self, name: str) -> Any:
        """The value of a flag.

        Parameters
        ----------
        name : str
            The flag, bare or with the prefix ``fgrad_`` or ``jax_``.

        Returns
        -------
        object

        Raises
        ------
        ConfigError
            If there is no such flag.

        Examples
        --------
        >>> import fgrad
        >>> fgrad.config.read("jax_enable_x64")
        True
        """
        short = _short(name)
        if short not in _DEFAULTS and short not in _INERT:
            raise _no_flag(name, self.values)
        return self.__dict__[short]

    @property
    def values(self) -> Mapping[str, Any]:
        """All flags and their values; a flag is looked up by its bare name or a prefixed one."""
        return _Values({name: self.__dict__[name] for name in (*_DEFAULTS, *_INERT)})

    @property
    def config(self) -> Config:
        """The flags themselves: programs have ``from jax.config import config``."""
        return self

    @property
    def x64_enabled(self) -> bool:
        """Whether numbers have 64 bits by default."""
        return self.enable_x64

    def parse_flags_with_absl(self) -> None:
        """Set flags from the command line: ``--jax_enable_x64=true``, ``--fgrad_debug_nans``, ``--nojax_...``.

        Other arguments are left to the program. Where the package ``absl`` is installed, its parser is told
        of the flags too.

        Raises
        ------
        ConfigError
            If a flag does not take the given value.

        Examples
        --------
        >>> import fgrad
        >>> fgrad.config.parse_flags_with_absl()
        """
        self._define_absl_flags()
        self._parse(sys.argv[1:])

    def config_with_absl(self) -> None:
        """Let the command line parser of ``absl`` set flags, as in ``--jax_enable_x64=true``.

        Without that package, this does nothing.

        Examples
        --------
        >>> import fgrad
        >>> fgrad.config.config_with_absl()
        """
        if self._define_absl_flags():
            from absl import app  # type: ignore[import-not-found, import-untyped, unused-ignore]

            app.call_after_init(lambda: self._parse(sys.argv[1:]))

    def _define_absl_flags(self) -> bool:
        """Make the flags known to the command line parser of absl, if it is installed."""
        try:
            from absl import flags  # type: ignore[import-not-found, import-untyped, unused-ignore]
        except ImportError:
            return False
        for short, default in (_DEFAULTS | _INERT).items():
            for prefix in ("fgrad_", "jax_"):
                if prefix + short in flags.FLAGS:
                    continue
                define = flags.DEFINE_bool if isinstance(default, bool) else flags.DEFINE_string
                define(prefix + short, None, f"The flag {short} of fgrad.config.")
        return True

    def _parse(self, arguments: Sequence[str]) -> None:
        for argument in arguments:
            if argument == "--":
                break
            name, given, text = argument.lstrip("-").partition("=")
            off = name.startswith(("nofgrad_", "nojax_"))
            name = name[2:] if off else name
            if not argument.startswith("-") or not name.startswith(("fgrad_", "jax_")):
                continue
            short = _short(name)
            if short not in _DEFAULTS and short not in _INERT:
                continue
            value: Any = text if given else not off
            if isinstance(_DEFAULTS.get(short), bool) and given:
                value = _switch(text)
                if value is None:
                    raise ConfigError(f"flag {name!r} takes true or false, got {text!r}")
            elif isinstance(_DEFAULTS.get(short), int) and given and text.isdigit():
                value = int(text)
            self.update(name, value)

    def key(self) -> tuple[Any, ...]:
        """The flags that change what a trace looks like: part of every trace's cache key."""
        # Written out, as this is read at every call of a compiled function; in the order of TRACE_FLAGS.
        return (
            self.enable_x64,
            self.default_prng_impl,
            self.index_out_of_range,
            self.disable_most_optimizations,
        )


class _Values(Mapping[str, Any]):
    """Flags by name, which is bare or has a prefix."""

    def __init__(self, flags: dict[str, Any]) -> None:
        self._flags = flags

    def __getitem__(self, name: str) -> Any:
        return self._flags[_short(name)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._flags)

    def __len__(self) -> int:
        return len(self._flags)

    def __repr__(self) -> str:
        return repr(self._flags)


#: The flags of `Config.key`, by name.
TRACE_FLAGS = (
    "enable_x64",
    "default_prng_impl",
    "index_out_of_range",
    "disable_most_optimizations",
)
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


def _switched(name: str, title: str, note: str, takes: str, argument: str) -> Any:
    """A context manager that sets a flag of JAX."""

    def manager(new_val: Any = True) -> contextlib.AbstractContextManager[None]:
        return _flag(_short(name), new_val)

    manager.__name__ = manager.__qualname__ = name
    manager.__doc__ = f"""{title}

    Parameters
    ----------
    new_val : {takes}

    Returns
    -------
    context manager
        It holds for the whole process while it is open. {note}

    Raises
    ------
    ConfigError
        If the flag does not take this value.

    Examples
    --------
    >>> import fgrad
    >>> with fgrad.{name}({argument}):
    ...     pass
    """
    return manager


_ONE_MEMORY = "Arrays lie in one memory, between which nothing is copied."
log_compiles = _switched(
    "log_compiles",
    "Warn about each compilation and say why it happens, inside a ``with`` block.",
    "The same as the flag ``explain_cache_misses``.",
    "bool",
    "False",
)
explain_cache_misses = _switched(
    "explain_cache_misses",
    "Warn about each compilation and say why it happens, inside a ``with`` block.",
    "",
    "bool",
    "False",
)
enable_checks = _switched(
    "enable_checks",
    "Check the type of every result and of every jaxpr, inside a ``with`` block.",
    "The same as the flag ``check_jaxprs``.",
    "bool",
    "True",
)
check_tracer_leaks = _switched(
    "check_tracer_leaks",
    "Accepted for compatibility: the use of a leaked tracer is always an error.",
    "",
    "bool",
    "True",
)
enable_custom_prng = _switched(
    "enable_custom_prng",
    "Accepted for compatibility: ``random.key`` makes typed keys, ``random.PRNGKey`` plain arrays.",
    "",
    "bool",
    "True",
)
debug_key_reuse = _switched(
    "debug_key_reuse",
    "Report random keys that are used twice, inside a ``with`` block.",
    "",
    "bool",
    "True",
)
default_prng_impl = _switched(
    "default_prng_impl",
    "Choose the generator of new random keys, inside a ``with`` block.",
    "",
    'one of "threefry2x32", "philox", "rbg", "unsafe_rbg"',
    '"philox"',
)
threefry_partitionable = _switched(
    "threefry_partitionable",
    "Accepted for compatibility: random bits are always those of the partitionable form, JAX's default.",
    "",
    "True",
    "True",
)
softmax_custom_jvp = _switched(
    "softmax_custom_jvp",
    "Accepted for compatibility: softmax always has a derivative rule of its own.",
    "",
    "bool",
    "True",
)
numpy_dtype_promotion = _switched(
    "numpy_dtype_promotion",
    "Choose how dtypes are promoted, inside a ``with`` block: by NumPy's rules in any case.",
    'For "strict", which in JAX refuses operands of different dtypes, there is a warning that nothing checks it.',
    '"standard" or "strict"',
    '"standard"',
)
numpy_rank_promotion = _switched(
    "numpy_rank_promotion",
    "Choose whether arrays of different ranks broadcast, inside a ``with`` block: they do in any case.",
    'For "warn" and "raise" there is a warning that nothing checks it.',
    '"allow", "warn" or "raise"',
    '"allow"',
)
transfer_guard = _switched(
    "transfer_guard",
    "Accepted for compatibility: nothing is transferred.",
    _ONE_MEMORY,
    "str",
    '"disallow"',
)
transfer_guard_device_to_host = _switched(
    "transfer_guard_device_to_host",
    "Accepted for compatibility: nothing is transferred.",
    _ONE_MEMORY,
    "str",
    '"disallow"',
)
transfer_guard_host_to_device = _switched(
    "transfer_guard_host_to_device",
    "Accepted for compatibility: nothing is transferred.",
    _ONE_MEMORY,
    "str",
    '"disallow"',
)
transfer_guard_device_to_device = _switched(
    "transfer_guard_device_to_device",
    "Accepted for compatibility: nothing is transferred.",
    _ONE_MEMORY,
    "str",
    '"disallow"',
)
