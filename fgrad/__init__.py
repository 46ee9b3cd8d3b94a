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
    check_tracer_leaks,
    checking_leaks,
    config,
    debug_key_reuse,
    debug_nans,
    default_device,
    default_matmul_precision,
    default_prng_impl,
    disable_jit,
    enable_checks,
    enable_custom_prng,
    enable_x64,
    explain_cache_misses,
    log_compiles,
    numpy_dtype_promotion,
    numpy_rank_promotion,
    softmax_custom_jvp,
    threefry_partitionable,
    transfer_guard,
    transfer_guard_device_to_device,
    transfer_guard_device_to_host,
    transfer_guard_host_to_device,
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
    effects_barrier,
    host_count,
    host_id,
    host_ids,
    local_device_count,
    local_devices,
    process_count,
    process_index,
    process_indices,
)
from fgrad.dtypes import float0
from fgrad.numpy.short_ways import SHORT_WAYS as _SHORT_WAYS
from fgrad.removed_names import removed_name as _removed_name
from fgrad.source_info import guard as _guard
from fgrad.source_info import guard_methods as _guard_methods
from fgrad.source_info import guard_names as _guard_names
from fgrad.transforms.callback import pure_callback
from fgrad.transforms.checkpoint import checkpoint, remat
from fgrad.transforms.closure_convert import closure_convert
from fgrad.transforms.compile_time import ensure_compile_time_eval
from fgrad.transforms.custom_gradient import custom_gradient
from fgrad.transforms.custom_jvp import custom_jvp
from fgrad.transforms.custom_vjp import custom_vjp
from fgrad.transforms.fwd_and_bwd import fwd_and_bwd
from fgrad.transforms.grad import grad, value_and_grad
from fgrad.transforms.jacobian import hessian, jacfwd, jacobian, jacrev
from fgrad.transforms.jit import clear_caches, jit
from fgrad.transforms.jvp import jvp
from fgrad.transforms.linearize import linear_transpose, linearize
from fgrad.transforms.make_jaxpr import eval_shape, make_jaxpr, typeof
from fgrad.transforms.named import named_call, named_scope
from fgrad.transforms.pmap import pmap
from fgrad.transforms.vjp import vjp
from fgrad.transforms.vmap import vmap
from fgrad.version import __version__, __version_info__

_guard(numpy, numpy.linalg, numpy.fft, tree, tree_util, short_ways=_SHORT_WAYS)
_guard_methods(type(config))
for _module in (dtypes, errors):
    _guard_names(_module)
del _module

__all__ = [
    "Array",
    "Device",
    "NamedSharding",
    "P",
    "ShapeDtypeStruct",
    "__version__",
    "__version_info__",
    "ad_checkpoint",
    "block_until_ready",
    "check_tracer_leaks",
    "checking_leaks",
    "checkpoint",
    "checkpoint_policies",
    "clear_caches",
    "closure_convert",
    "compat",
    "config",
    "core",
    "custom_batching",
    "custom_derivatives",
    "custom_gradient",
    "custom_jvp",
    "custom_vjp",
    "debug",
    "debug_key_reuse",
    "debug_nans",
    "default_backend",
    "default_device",
    "default_matmul_precision",
    "default_prng_impl",
    "device_count",
    "device_get",
    "device_put",
    "device_put_replicated",
    "device_put_sharded",
    "devices",
    "disable_jit",
    "dlpack",
    "dtypes",
    "effects_barrier",
    "enable_checks",
    "enable_custom_prng",
    "enable_x64",
    "ensure_compile_time_eval",
    "errors",
    "eval_shape",
    "example_libraries",
    "experimental",
    "explain_cache_misses",
    "export",
    "extend",
    "flatten_util",
    "float0",
    "fwd_and_bwd",
    "grad",
    "hessian",
    "host_count",
    "host_id",
    "host_ids",
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
    "log_compiles",
    "make_jaxpr",
    "make_mesh",
    "named_call",
    "named_scope",
    "nn",
    "numpy",
    "numpy_dtype_promotion",
    "numpy_rank_promotion",
    "ops",
    "pmap",
    "process_count",
    "process_index",
    "process_indices",
    "profiler",
    "pure_callback",
    "random",
    "remat",
    "scipy",
    "sharding",
    "softmax_custom_jvp",
    "stages",
    "test_util",
    "threefry_partitionable",
    "tools",
    "transfer_guard",
    "transfer_guard_device_to_device",
    "transfer_guard_device_to_host",
    "transfer_guard_host_to_device",
    "tree",
    "tree_util",
    "typeof",
    "typing",
    "value_and_grad",
    "version",
    "vjp",
    "vmap",
]


if _TYPE_CHECKING:
    from fgrad import (
        ad_checkpoint,
        checkpoint_policies,
        compat,
        core,
        custom_batching,
        custom_derivatives,
        debug,
        dlpack,
        example_libraries,
        experimental,
        extend,
        flatten_util,
        image,
        lax,
        nn,
        ops,
        profiler,
        random,
        scipy,
        sharding,
        stages,
        test_util,
        tools,
        typing,
    )
    from fgrad.sharding import NamedSharding, make_mesh
    from fgrad.sharding import PartitionSpec as P

# Namespaces that are imported when they are first asked for, since most programs start without them:
# they put the boundaries around their functions themselves.
_LATER = frozenset(
    (
        "ad_checkpoint",
        "checkpoint_policies",
        "compat",
        "core",
        "custom_batching",
        "custom_derivatives",
        "debug",
        "dlpack",
        "example_libraries",
        "experimental",
        "extend",
        "flatten_util",
        "image",
        "lax",
        "nn",
        "ops",
        "profiler",
        "random",
        "scipy",
        "sharding",
        "stages",
        "test_util",
        "tools",
        "typing",
    )
)


#: Names that come from `fgrad.sharding` when they are asked for.
_OF_SHARDING = {"NamedSharding": "NamedSharding", "P": "PartitionSpec", "make_mesh": "make_mesh"}


def __getattr__(name: str) -> _Any:
    if name in _LATER:
        return _importlib.import_module(f"fgrad.{name}")
    if name == "export":
        return _importlib.import_module("fgrad.transforms.export").export
    if name in _OF_SHARDING:
        return getattr(_importlib.import_module("fgrad.sharding"), _OF_SHARDING[name])
    return _removed_name(name)


_guard(_sys.modules[__name__])
