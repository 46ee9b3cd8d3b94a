"""What JAX keeps under ``jax.experimental``."""

import importlib
import sys
from functools import partial
from typing import Any

from fgrad import source_info
from fgrad.config import enable_x64 as _enable_x64
from fgrad.errors import MissingNameError as _MissingNameError
from fgrad.transforms.callback import io_callback

__all__ = ["io_callback"]


def __getattr__(name: str) -> Any:
    found: Any
    if name in ("checkify", "jet", "ode", "sparse"):
        return importlib.import_module(f"fgrad.experimental.{name}")
    if name == "enable_x64":
        new, found = "fgrad.enable_x64", _enable_x64
    elif name in ("optimizers", "stax"):
        new = f"fgrad.example_libraries.{name}"
        found = importlib.import_module(new)
    elif name == "PartitionSpec":
        new, found = (
            "fgrad.sharding.PartitionSpec",
            importlib.import_module("fgrad.sharding").PartitionSpec,
        )
    elif name == "disable_x64":
        new, found = "fgrad.enable_x64(False)", partial(_enable_x64, False)
    else:
        raise _MissingNameError(__name__, name)
    source_info.warn(
        f"fgrad.experimental.{name} is deprecated, as it is in JAX; use {new}", DeprecationWarning
    )
    return found


source_info.guard_names(sys.modules[__name__])
