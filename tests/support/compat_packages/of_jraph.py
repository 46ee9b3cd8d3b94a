"""A graph network of jraph and its gradient."""

import jax
import jax.numpy as jnp
import jraph

graph = jraph.GraphsTuple(
    nodes=jnp.arange(6.0).reshape(3, 2),
    edges=jnp.ones((4, 1)),
    senders=jnp.array([0, 1, 2, 0]),
    receivers=jnp.array([1, 2, 0, 2]),
    n_node=jnp.array([3]),
    n_edge=jnp.array([4]),
    globals=jnp.zeros((1, 1)),
)


def apply(weight, graph):
    net = jraph.GraphNetwork(
        update_edge_fn=lambda e, s, r, g: jnp.tanh(e + (s * r) @ weight),
        update_node_fn=lambda n, s, r, g: jnp.tanh(n + s + 0.5 * r),
        update_global_fn=lambda n, e, g: g + n.sum() + e.sum(),
    )
    return net(graph)


weight = jnp.array([[0.1], [0.2]])
print(*map(float, apply(weight, graph).nodes.ravel()))
print(*map(float, jax.grad(lambda w: apply(w, graph).globals.sum())(weight).ravel()))
both = jraph.batch([graph, graph])
print(*map(float, jax.jit(apply)(weight, both).globals.ravel()))
print(*map(float, jraph.segment_softmax(jnp.arange(4.0), graph.receivers, 3)))
