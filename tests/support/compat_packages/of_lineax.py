"""Linear solves of lineax, direct and iterative, and their derivatives."""

import jax
import jax.numpy as jnp
import lineax as lx

matrix = jnp.array([[4.0, 1.0], [1.0, 3.0]])
vector = jnp.array([1.0, 2.0])
definite = lx.positive_semidefinite_tag


def solve(matrix, vector, solver, tags=()):
    return lx.linear_solve(lx.MatrixLinearOperator(matrix, tags), vector, solver).value


for solver in (lx.LU(), lx.QR(), lx.SVD(), lx.GMRES(1e-6, 1e-6), lx.BiCGStab(1e-6, 1e-6)):
    print(*map(float, solve(matrix, vector, solver)))
for solver in (lx.Cholesky(), lx.CG(1e-6, 1e-6)):
    print(*map(float, solve(matrix, vector, solver, definite)))
gradients = jax.grad(lambda a, b: solve(a, b, lx.LU()).sum(), argnums=(0, 1))(matrix, vector)
print(*map(float, gradients[0].ravel()), *map(float, gradients[1]))
iterative = jax.grad(lambda a: solve(a, vector, lx.CG(1e-6, 1e-6), definite).sum())
print(*map(float, jax.jit(iterative)(matrix).ravel()))
print(*map(float, jax.vmap(lambda b: solve(matrix, b, lx.LU()))(jnp.eye(2)).ravel()))
print(*map(float, jax.hessian(lambda b: (solve(matrix, b, lx.LU()) ** 2).sum())(vector).ravel()))
operator = lx.JacobianLinearOperator(lambda x, _: matrix @ x, jnp.zeros(2))
print(*map(float, lx.linear_solve(operator, vector, lx.LU()).value))
