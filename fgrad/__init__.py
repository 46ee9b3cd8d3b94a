"""Composable transformations of NumPy programs: grad, vjp, jvp, vmap, jit and their kin.

Functions are recorded into small typed programs of primitives, which the transforms interpret and
``jit`` compiles to NumPy code. Results are NumPy arrays.
"""

import importlib as _importlib
import sys as _sys
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

import fgrad.operators  # noqa: F401 - attaches the operators to arrays and traced values
from fgrad import (
    dtypes,
    errors,
    numpy,
    tree,
    tree_util,
)
from fgrad.array import Array
from fgrad.avals import ShapeDtypeStruct
from fgrad.config import (
    checking_leaks,
    config,
    debug_nans,
    default_device,
    default_matmul_precision,
    disable_jit,
    enable_x64,
)
from fgrad.devices import (
    Device,
    block_until_ready,
    default_backend,
    device_count,
    device_get,
    device_put,
    device_put_replicated,
    device_put_sharded,
    devices,
    local_device_count,
    local_devices,
    process_count,
    process_index,
)
from fgrad.dtypes import float0
from fgrad.removed_names import removed_name as _removed_name
from fgrad.source_info import guard as _guard
from fgrad.transforms.callback import pure_callback
from fgrad.transforms.checkpoint import checkpoint, remat
from fgrad.transforms.closure_convert import closure_convert
from fgrad.transforms.custom_gradient import custom_gradient
from fgrad.transforms.custom_jvp import custom_jvp
from fgrad.transforms.custom_vjp import custom_vjp
from fgrad.transforms.grad import grad, value_and_grad
from fgrad.transforms.jacobian import hessian, jacfwd, jacobian, jacrev
from fgrad.transforms.jit import jit
from fgrad.transforms.jvp import jvp
from fgrad.transforms.linearize import linear_transpose, linearize
from fgrad.transforms.make_jaxpr import eval_shape, make_jaxpr
from fgrad.transforms.named import named_call, named_scope
from fgrad.transforms.pmap import pmap
from fgrad.transforms.vjp import vjp
from fgrad.transforms.vmap import vmap

_guard(numpy, numpy.linalg, numpy.fft, tree, tree_util)

__version__ = "0.1.0"

__all__ = [
    "Array",
    "Device",
    "ShapeDtypeStruct",
    "ad_checkpoint",
    "block_until_ready",
    "checking_leaks",
    "checkpoint",
    "checkpoint_policies",
    "closure_convert",
    "config",
    "core",
    "custom_batching",
    "custom_derivatives",
    "custom_gradient",
    "custom_jvp",
    "custom_vjp",
    "debug",
    "debug_nans",
    "default_backend",
    "default_device",
    "default_matmul_precision",
    "device_count",
    "device_get",
    "device_put",
    "device_put_replicated",
    "device_put_sharded",
    "devices",
    "disable_jit",
    "dtypes",
    "enable_x64",
    "errors",
    "eval_shape",
    "experimental",
    "extend",
    "flatten_util",
    "float0",
    "grad",
    "hessian",
    "image",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jit",
    "jvp",
    "lax",
    "linear_transpose",
    "linearize",
    "local_device_count",
    "local_devices",
    "make_jaxpr",
    "make_mesh",
    "named_call",
    "named_scope",
    "nn",
    "numpy",
    "ops",
    "pmap",
    "process_count",
    "process_index",
    "pure_callback",
    "random",
    "remat",
    "scipy",
    "sharding",
    "test_util",
    "tree",
    "tree_util",
    "typing",
    "value_and_grad",
    "vjp",
    "vmap",
]


if _TYPE_CHECKING:
    from fgrad import (
        ad_checkpoint,
        checkpoint_policies,
        core,
        custom_batching,
        custom_derivatives,
        debug,
        experimental,
        extend,
        flatten_util,
        image,
        lax,
        nn,
        ops,
        random,
        scipy,
        sharding,
        test_util,
        typing,
    )
    from fgrad.sharding import make_mesh

# Namespaces that are imported when they are first asked for, since most programs start without them:
# they put the boundaries around their functions themselves.
_LATER = frozenset(
    (
        "ad_checkpoint",
        "checkpoint_policies",
        "core",
        "custom_batching",
        "custom_derivatives",
        "debug",
        "experimental",
        "extend",
        "flatten_util",
        "image",
        "lax",
        "nn",
        "ops",
        "random",
        "scipy",
        "sharding",
        "test_util",
        "typing",
    )
)


def __getattr__(name: str) -> _Any:
    if name in _LATER:
        return _importlib.import_module(f"fgrad.{name}")
    if name == "make_mesh":
        return _importlib.import_module("fgrad.sharding").make_mesh
    return _removed_name(name)


_guard(_sys.modules[__name__])
