"""The primitives of ``jax.lax``, beside the names of `fgrad.lax`."""

from typing import Any

from fgrad.compat.jax._src.ad_util import stop_gradient_p
from fgrad.compat.known_primitives import known_primitive
from fgrad.compat.primitives import Primitive

conj_p = known_primitive("conj_p")
#: Two operations in programs of fgrad: those that look for this one find none.
rsqrt_p = Primitive("rsqrt")


__all__ = ["conj_p", "rsqrt_p", "stop_gradient_p"]


def __getattr__(name: str) -> Any:
    return known_primitive(name)
