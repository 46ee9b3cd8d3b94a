"""Interpolation by interpax in one dimension and two, and derivatives through it."""

import interpax
import jax
import jax.numpy as jnp

x = jnp.linspace(0.0, 3.0, 9)
y = jnp.sin(x)
at = jnp.array([0.1, 1.37, 2.9])
for method in ("nearest", "linear", "cubic", "cubic2", "catmull-rom", "monotonic"):
    print(*map(float, interpax.interp1d(at, x, y, method=method)))
spline = interpax.Interpolator1D(x, y, method="cubic2")
print(*map(float, spline(at, dx=1)), *map(float, jax.vmap(jax.grad(spline))(at)))
grid = y[:, None] * jnp.cos(x)
print(*map(float, interpax.interp2d(at, at[::-1], x, x, grid, method="cubic")))
value, slope = jax.jit(
    jax.value_and_grad(lambda y: interpax.interp1d(at, x, y, method="cubic").sum())
)(y)
print(float(value), *map(float, slope))
print(*map(float, interpax.fft_interp1d(jnp.sin(2 * jnp.pi * jnp.arange(8) / 8), 12)))
