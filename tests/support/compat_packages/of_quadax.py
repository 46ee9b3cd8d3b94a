"""Integrals of quadax and the derivative of one."""

import jax
import jax.numpy as jnp
import quadax

print(float(quadax.quadgk(lambda x: jnp.exp(-(x**2)), jnp.array([-jnp.inf, jnp.inf]))[0]))
print(float(quadax.quadcc(lambda x: jnp.sin(x), jnp.array([0.0, 3.0]))[0]))
print(float(quadax.quadts(lambda x: jnp.sqrt(x), jnp.array([0.0, 1.0]))[0]))


def integral(a):
    return quadax.quadgk(lambda x, a: jnp.cos(a * x), jnp.array([0.0, 1.0]), args=(a,))[0]


print(float(jax.grad(integral)(2.0)))
