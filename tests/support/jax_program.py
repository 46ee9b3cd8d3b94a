"""A program as it is written for JAX, which prints numbers: it must print the same on fgrad."""

import dataclasses
from functools import partial

import jax
import jax.numpy as jnp
import jax.scipy.stats.norm as normal
import jax.tree_util as jtu
import numpy as np
from jax import lax, random
from jax.experimental import checkify
from jax.extend.core import Primitive
from jax.flatten_util import ravel_pytree
from jax.interpreters import ad, batching, mlir
from jax.scipy.special import logsumexp
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P


def show(*values):
    for value in values:
        print(*map(float, np.ravel(value)))


# ---- arrays, types, and what is out of range ------------------------------------------------------

x = jnp.arange(3.0)
assert isinstance(x, jax.Array)
assert x.dtype == jnp.float32
traced = []
jax.jit(lambda y: traced.append(isinstance(y, jax.core.Tracer) and isinstance(y, jax.Array)) or y)(
    x
)
show(traced, x[5], x[jnp.array([1, 9])], jnp.take(x, jnp.array([1, 9])), x.at[7].set(1.0))
show(normal.logpdf(0.5), logsumexp(x), jnp.einsum("i,i->", x, x), jax.nn.gelu(x))

# ---- random numbers, transforms and loops ---------------------------------------------------------

key = random.PRNGKey(7)
show(random.normal(key, (3,)), random.split(key)[0], random.permutation(key, 4))


@partial(jax.jit, static_argnums=1)
def iterate(x, count):
    return lax.fori_loop(0, count, lambda i, y: jnp.sin(y) + i, x)


show(iterate(0.3, 4), jax.jacfwd(iterate)(0.3, 4), jax.vmap(lambda a: a * x)(x))
show(jax.hessian(lambda x: jnp.prod(x + 1))(x))
flat, restore = ravel_pytree({"b": x, "a": (1.0, 2.0)})
show(flat, restore(2 * flat)["a"][1])


@jax.custom_vjp
def clipped(x):
    return x


clipped.defvjp(lambda x: (x, None), lambda _, ct: (jnp.clip(ct, -1.0, 1.0),))
show(jax.grad(lambda x: 5 * clipped(x))(2.0))


@jtu.register_pytree_node_class
@dataclasses.dataclass
class Line:
    slope: float
    offset: float

    def tree_flatten(self):
        return (self.slope, self.offset), None

    @classmethod
    def tree_unflatten(cls, _, children):
        return cls(*children)


gradient = jax.grad(lambda line: (line.slope * 3.0 + line.offset) ** 2)(Line(1.0, 2.0))
show(gradient.slope, gradient.offset)

# ---- a primitive with all its rules ----------------------------------------------------------------

scale_p = Primitive("scale")
scale_p.def_impl(lambda x, *, factor: factor * x)
scale_p.def_abstract_eval(lambda x, *, factor: jax.core.ShapedArray(x.shape, x.dtype))
ad.deflinear2(scale_p, lambda ct, x, *, factor: [scale_p.bind(ct, factor=factor)])
mlir.register_lowering(
    scale_p, mlir.lower_fun(lambda x, *, factor: factor * x, multiple_results=False)
)
batching.primitive_batchers[scale_p] = lambda args, axes, *, factor: (
    scale_p.bind(*args, factor=factor),
    axes[0],
)
scale = partial(scale_p.bind, factor=3.0)

square_p = Primitive("square_and_cube")
square_p.multiple_results = True
square_p.def_impl(lambda x: [x**2, x**3])
square_p.def_abstract_eval(lambda x: [jax.core.ShapedArray(x.shape, x.dtype)] * 2)
mlir.register_lowering(square_p, mlir.lower_fun(lambda x: [x**2, x**3], multiple_results=True))


def square_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    return square_p.bind(x), [2 * scale(x) * t / 3.0, 3 * x**2 * t]


ad.primitive_jvps[square_p] = square_jvp
batching.primitive_batchers[square_p] = lambda args, axes: (square_p.bind(*args), [axes[0]] * 2)


def both(x):
    squares, cubes = square_p.bind(scale(x))
    return jnp.sum(squares + cubes)


for transformed in (both, jax.grad(both), jax.jit(jax.grad(both)), jax.hessian(both)):
    show(transformed(x))
show(jax.vmap(jax.grad(both))(jnp.ones((2, 3))), jax.jvp(both, (x,), (x,))[1])
show(jax.linear_transpose(scale, x)(x)[0])

# ---- programs, checks, meshes ----------------------------------------------------------------------

closed = jax.make_jaxpr(lambda x: jnp.sin(x) * 2.0)(1.0)
show(len(closed.jaxpr.invars), jax.core.eval_jaxpr(closed.jaxpr, closed.consts, 0.5)[0])


def checked(x):
    checkify.check(x > 0, "{x} is not positive", x=x)
    return jnp.sqrt(x)


for value in (4.0, -4.0):
    error, root = jax.jit(checkify.checkify(checked))(value)
    show(error.get() is None)
mesh = Mesh(np.array(jax.devices()[:1]), ("d",))
total = jax.shard_map(
    lambda x: (2 * x, lax.psum(x.sum(), "d")), mesh=mesh, in_specs=P("d"), out_specs=(P("d"), P())
)
show(*total(x))
