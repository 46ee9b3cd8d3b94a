"""Losses and metrics for rankings of rax."""

import jax
import jax.numpy as jnp
import rax

scores = jnp.array([[2.2, -1.3, 5.4, 0.3], [0.1, 0.7, -0.2, 1.5]])
labels = jnp.array([[1.0, 0.0, 3.0, 0.0], [0.0, 2.0, 0.0, 1.0]])
where = jnp.array([[True, True, True, True], [True, True, False, True]])
for loss in (
    rax.softmax_loss,
    rax.listmle_loss,
    rax.pairwise_hinge_loss,
    rax.pairwise_logistic_loss,
    rax.pointwise_mse_loss,
    rax.poly1_softmax_loss,
):
    value, slope = jax.jit(jax.value_and_grad(lambda s, loss=loss: loss(s, labels, where=where)))(
        scores
    )
    print(float(value), *map(float, slope.ravel()))
for metric in (rax.mrr_metric, rax.ndcg_metric, rax.ap_metric, rax.dcg_metric):
    print(float(metric(scores, labels, where=where)))
