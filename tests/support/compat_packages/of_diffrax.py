"""Differential equations in diffrax: ordinary ones, a batch, gradients of solutions, a stochastic one."""

import diffrax
import jax
import jax.numpy as jnp

decay = diffrax.ODETerm(lambda t, y, rate: -rate * y)


def solve(rate, solver, controller, **options):
    return diffrax.diffeqsolve(
        decay,
        solver,
        0.0,
        2.0,
        0.1,
        jnp.array([1.0, 2.0]),
        args=rate,
        saveat=diffrax.SaveAt(ts=jnp.array([1.0, 2.0])),
        stepsize_controller=controller,
        **options,
    ).ys


adaptive = diffrax.PIDController(rtol=1e-4, atol=1e-4)
print(*map(float, solve(0.5, diffrax.Tsit5(), adaptive).ravel()))
print(*map(float, solve(0.5, diffrax.Dopri5(), adaptive).ravel()))
print(*map(float, solve(0.5, diffrax.Euler(), diffrax.ConstantStepSize()).ravel()))
batch = jax.vmap(lambda rate: solve(rate, diffrax.Tsit5(), adaptive))(jnp.array([0.1, 0.2]))
print(*map(float, batch.ravel()))
for adjoint in (diffrax.BacksolveAdjoint(), diffrax.DirectAdjoint()):

    def total(rate, adjoint=adjoint):
        return solve(rate, diffrax.Tsit5(), adaptive, adjoint=adjoint, max_steps=64).sum()

    print(float(jax.grad(total)(0.5)))
motion = diffrax.VirtualBrownianTree(0.0, 1.0, 1e-2, (), jax.random.PRNGKey(0))
noisy = diffrax.MultiTerm(
    diffrax.ODETerm(lambda t, y, _: -y), diffrax.ControlTerm(lambda t, y, _: 0.1, motion)
)
print(*map(float, diffrax.diffeqsolve(noisy, diffrax.Euler(), 0.0, 1.0, 0.05, 1.0).ys))
