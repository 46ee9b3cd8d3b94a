"""Formulas of SymPy as modules of sympy2jax, their values and gradients."""

import jax
import jax.numpy as jnp
import sympy
import sympy2jax

x, y = sympy.symbols("x y")
formulas = [sympy.exp(-(x**2)) * sympy.cos(y), sympy.sqrt(x + 2) / (1 + y**2), sympy.Max(x, y)]
module = sympy2jax.SymbolicModule(formulas)
print(*map(float, module(x=0.3, y=jnp.array(1.2))))


def total(x, y):
    return sum(module(x=x, y=y))


print(*map(float, jax.jit(jax.grad(total, (0, 1)))(0.3, 1.2)))
print(*map(float, jax.vmap(total)(jnp.arange(3.0), jnp.ones(3))))
