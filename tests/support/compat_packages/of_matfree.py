"""Matrix-free linear algebra of matfree: traces, determinants, decompositions, least squares."""

import jax
import jax.numpy as jnp
from matfree import decomp, funm, lstsq, stochtrace

rows = jnp.sin(jnp.arange(48.0).reshape(8, 6))
matrix = rows.T @ rows + 2.0 * jnp.eye(6)
key = jax.random.key(1)
signs = stochtrace.sampler_signs(jnp.ones(6), num=40)
for integrand in (
    stochtrace.monte_carlo_trace(),
    stochtrace.monte_carlo_diagonal(),
    stochtrace.monte_carlo_frobeniusnorm_squared(),
):
    estimate = stochtrace.estimator_monte_carlo(integrand, signs)
    print(*map(float, jnp.ravel(jax.jit(lambda k, e=estimate: e(lambda v: matrix @ v, k))(key))))


def log_determinant(scale):
    tridiag = decomp.tridiag_sym(6)
    integrand = funm.monte_carlo_funm_sym_logdet(tridiag)
    estimate = stochtrace.estimator_monte_carlo(integrand, signs)
    return estimate(lambda v, s: s * (matrix @ v), key, scale)


value, slope = jax.value_and_grad(log_determinant)(1.5)
print(float(value), float(slope))
values = decomp.tridiag_sym(6)(lambda v: matrix @ v, jnp.ones(6))
print(*map(float, jnp.linalg.eigvalsh(values.J_small)))
solve = lstsq.lsmr()
solution, _ = solve(lambda v: rows.T @ v, jnp.cos(jnp.arange(8.0)))
print(*map(float, solution))
