"""The release of JAX whose names and meanings fgrad follows."""

#: What ``jax.__version__`` says after `fgrad.compat.install`.
JAX_VERSION = "0.10.2"
