"""Series of orthogonal polynomials by orthax: values, roots, quadrature, gradients."""

import jax
import jax.numpy as jnp
import orthax

c = jnp.array([0.3, -1.2, 0.5, 2.0])
x = jnp.linspace(-0.9, 0.9, 5)
for values in (
    orthax.legendre.legval(x, c),
    orthax.chebyshev.chebval(x, c),
    orthax.hermite.hermval(x, c),
    orthax.laguerre.lagval(x, c),
    orthax.polynomial.polyval(x, c),
    orthax.legendre.legmul(c, c),
    orthax.chebyshev.chebder(c),
    orthax.legendre.legint(c),
    orthax.chebyshev.cheb2poly(c),
    orthax.legendre.legvander(x, 3).ravel(),
    jnp.sort(orthax.chebyshev.chebroots(c).real),
    *orthax.legendre.leggauss(6),
):
    print(*map(float, values))
fitted = jax.jit(lambda y: orthax.chebyshev.chebfit(x, y, 3))(jnp.sin(x))
print(*map(float, fitted))
print(*map(float, jax.grad(lambda c: orthax.legendre.legval(x, c).sum())(c)))
