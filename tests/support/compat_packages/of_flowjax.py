"""Normalizing flows of flowjax: densities, draws, inverses, one that is fitted."""

import equinox as eqx
import jax
import jax.numpy as jnp
from flowjax import bijections, distributions, flows
from flowjax.train import fit_to_data

base = distributions.Normal(jnp.array([0.3, -1.0]), jnp.array([1.0, 2.0]))
points = jnp.array([[0.2, 0.4], [-1.0, 2.0]])
print(*map(float, base.log_prob(points)))
spline = bijections.RationalQuadraticSpline(knots=5, interval=4)
y, log_slope = spline.transform_and_log_det(jnp.array(0.7))
print(float(y), float(log_slope), float(spline.inverse(y)))
key = jax.random.key(2)
for make in (flows.masked_autoregressive_flow, flows.coupling_flow):
    flow = make(key, base_dist=distributions.StandardNormal((2,)), flow_layers=2)
    print(*map(float, flow.log_prob(points)), *map(float, flow.sample(key, (2,)).ravel()))
    slopes = eqx.filter_grad(lambda f: -f.log_prob(points).mean())(flow)
    print(*(float(jnp.sum(jnp.abs(x))) for x in jax.tree.leaves(slopes) if x.size > 4))
data = jax.random.normal(key, (200, 2)) * 0.5 + 1.0
fitted, losses = fit_to_data(key, flow, data, learning_rate=1e-2, max_epochs=3, show_progress=False)
print(*losses["train"], *losses["val"])
