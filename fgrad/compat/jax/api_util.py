"""Functions of trees as functions of lists of leaves."""

from fgrad.compat.wrapped_functions import (
    debug_info,
    flatten_fun,
    flatten_fun_nokwargs,
    safe_map,
)

__all__ = ["debug_info", "flatten_fun", "flatten_fun_nokwargs", "safe_map"]
