"""Functions with derivatives of their own, and what their rules meet."""

from __future__ import annotations

import sys as _sys

from fgrad.source_info import guard as _guard
from fgrad.transforms.call_kinds import custom_jvp_call_p, custom_vjp_call_p
from fgrad.transforms.closure_convert import closure_convert
from fgrad.transforms.custom_gradient import custom_gradient
from fgrad.transforms.custom_jvp import custom_jvp
from fgrad.transforms.custom_vjp import custom_vjp
from fgrad.transforms.linear_call import linear_call
from fgrad.transforms.symbolic_zero import (
    CustomVJPPrimal,
    SymbolicZero,
    custom_vjp_primal_tree_values,
    zero_from_primal,
)

__all__ = [
    "CustomVJPPrimal",
    "SymbolicZero",
    "closure_convert",
    "custom_gradient",
    "custom_jvp",
    "custom_jvp_call_p",
    "custom_vjp",
    "custom_vjp_call_p",
    "custom_vjp_primal_tree_values",
    "linear_call",
    "zero_from_primal",
]

_guard(_sys.modules[__name__])
