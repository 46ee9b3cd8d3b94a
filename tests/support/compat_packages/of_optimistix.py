"""Roots, minima, least squares and fixed points of optimistix; the derivative of a root."""

import jax
import jax.numpy as jnp
import optimistix as optx


def equations(y, a):
    return jnp.array([y[0] ** 2 + y[1] - a, y[1] - jnp.cos(y[0])])


def rosenbrock(y, _):
    return (1 - y[0]) ** 2 + 100 * (y[1] - y[0] ** 2) ** 2


def residuals(y, _):
    return jnp.array([10 * (y[1] - y[0] ** 2), 1 - y[0]])


def root(a):
    return optx.root_find(equations, optx.Newton(1e-6, 1e-6), jnp.array([0.5, 0.5]), a).value


start = jnp.array([-1.0, 1.0])
print(*map(float, root(1.5)), *map(float, jax.jacrev(root)(1.5)))
print(*map(float, optx.minimise(rosenbrock, optx.BFGS(1e-5, 1e-5), start).value))
levenberg = optx.LevenbergMarquardt(1e-5, 1e-5)
print(*map(float, optx.least_squares(residuals, levenberg, start).value))
iteration = optx.FixedPointIteration(1e-6, 1e-6)
print(float(optx.fixed_point(lambda y, _: jnp.cos(y), iteration, jnp.array(0.5)).value))
