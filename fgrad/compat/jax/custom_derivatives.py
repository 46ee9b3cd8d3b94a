"""The primitives of ``jax.custom_derivatives``, beside the names of `fgrad.custom_derivatives`."""

from fgrad.custom_derivatives import custom_jvp_call_p, custom_vjp_call_p

__all__ = ["custom_jvp_call_p", "custom_vjp_call_p"]
