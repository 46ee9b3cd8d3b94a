"""Checks of values in compiled functions, and errors as results, under the names that JAX gives them."""

from fgrad.errors import CheckError as JaxRuntimeError
from fgrad.transforms.checkify import (
    Error,
    all_checks,
    automatic_checks,
    check_error,
    checkify,
    div_checks,
    float_checks,
    index_checks,
    init_error,
    nan_checks,
    user_checks,
)
from fgrad.transforms.checks import ErrorCategory, check, debug_check

__all__ = [
    "Error",
    "ErrorCategory",
    "JaxRuntimeError",
    "all_checks",
    "automatic_checks",
    "check",
    "check_error",
    "checkify",
    "debug_check",
    "div_checks",
    "float_checks",
    "index_checks",
    "init_error",
    "nan_checks",
    "user_checks",
]
