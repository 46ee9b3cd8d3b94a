"""Distances, growth and power spectra of jax-cosmo, and how they follow from the parameters."""

import jax
import jax.numpy as jnp
import jax_cosmo

cosmology = jax_cosmo.Planck15()
a = jnp.array([0.3, 0.5, 1.0])
print(*map(float, jax_cosmo.background.radial_comoving_distance(cosmology, a)))
print(*map(float, jax_cosmo.background.growth_factor(cosmology, a)))
k = jnp.logspace(-2, 0, 4)
print(*map(float, jax_cosmo.power.linear_matter_power(cosmology, k)))
print(*map(float, jax_cosmo.power.nonlinear_matter_power(cosmology, k)))


def distance(omega):
    changed = jax_cosmo.Planck15(Omega_c=omega)
    return jax_cosmo.background.angular_diameter_distance(changed, jnp.array([0.5]))[0]


print(*map(float, jax.value_and_grad(distance)(0.26)))
