"""Solvers of jaxopt, and the implicit derivative of a solution."""

import jax
import jax.numpy as jnp
import jaxopt
import numpy as np

rng = np.random.default_rng(0)
features = jnp.array(rng.normal(size=(40, 5)), jnp.float32)
targets = jnp.array(rng.normal(size=40) > 0, jnp.float32)
start = jnp.zeros(5)


def ridge(w, penalty):
    residual = features @ w - targets
    return 0.5 * jnp.mean(residual**2) + 0.5 * penalty * jnp.sum(w**2)


def square(w):
    return 0.5 * jnp.mean((features @ w - targets) ** 2)


lbfgs = jaxopt.LBFGS(fun=ridge, maxiter=50)
lasso = jaxopt.ProximalGradient(fun=square, prox=jaxopt.prox.prox_lasso, maxiter=100)
print(*map(float, lbfgs.run(start, penalty=0.1).params))
print(*map(float, jaxopt.GradientDescent(fun=ridge, maxiter=200).run(start, penalty=0.1).params))
print(*map(float, lasso.run(start, hyperparams_prox=0.05).params))
print(*map(float, jax.jacobian(lambda penalty: lbfgs.run(start, penalty=penalty).params)(0.1)))
print(float(jaxopt.Bisection(lambda x: x**3 - 2, 0.0, 2.0).run().params))
print(float(jaxopt.AndersonAcceleration(jnp.cos).run(jnp.float32(0.5)).params))
print(*map(float, jaxopt.ScipyMinimize(fun=ridge, method="L-BFGS-B").run(start, 0.1).params))
