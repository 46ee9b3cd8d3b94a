"""The eight schools in numpyro, by NUTS and variationally, and densities of distributions.

Chains differ from those of JAX after some steps, by rounding: what is printed of them is whether the mean lies where
it must, within five of its errors.
"""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS, SVI, Predictive, Trace_ELBO
from numpyro.infer.autoguide import AutoNormal

effects = jnp.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
errors = jnp.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def model(effects=None):
    mu = numpyro.sample("mu", dist.Normal(0, 5))
    tau = numpyro.sample("tau", dist.HalfCauchy(5))
    with numpyro.plate("schools", 8):
        z = numpyro.sample("z", dist.Normal(0, 1))
        numpyro.sample("effect", dist.Normal(mu + tau * z, errors), obs=effects)


chain = MCMC(NUTS(model), num_warmup=200, num_samples=400, progress_bar=False)
chain.run(jax.random.PRNGKey(0), effects)
print(int(abs(chain.get_samples()["mu"].mean() - 4.4) < 5 * 3.3 / 200**0.5))
guide = AutoNormal(model)
variational = SVI(model, guide, numpyro.optim.Adam(0.05), Trace_ELBO())
fitted = variational.run(jax.random.PRNGKey(1), 100, effects, progress_bar=False)
print(float(fitted.losses[-1]))
print(*Predictive(model, num_samples=5)(jax.random.PRNGKey(2))["effect"].shape)
for distribution, value in (
    (dist.Beta(2.0, 3.0), 0.3),
    (dist.StudentT(3.0, 0.0, 1.0), 0.3),
    (dist.Dirichlet(jnp.ones(3)), jnp.ones(3) / 3),
    (dist.MultivariateNormal(jnp.zeros(2), jnp.eye(2)), jnp.ones(2)),
    (dist.Poisson(3.0), 2),
):
    print(float(distribution.log_prob(value)))
