"""Evolution strategies of evosax on a quadratic function."""

import jax
import jax.numpy as jnp
from evosax.algorithms import CMA_ES, PSO, Open_ES, SimpleES


def cost(population):
    return jnp.sum((population - jnp.array([0.3, -0.2, 0.5])) ** 2, -1)


for algorithm in (SimpleES, Open_ES, CMA_ES, PSO):
    key = jax.random.key(0)
    strategy = algorithm(population_size=16, solution=jnp.zeros(3))
    params = strategy.default_params
    population = jax.random.normal(key, (16, 3))
    begin = (population, cost(population)) if algorithm is PSO else (jnp.zeros(3),)
    state = strategy.init(key, *begin, params)

    def step(state, key, strategy=strategy, params=params):
        ask_key, tell_key = jax.random.split(key)
        population, state = strategy.ask(ask_key, state, params)
        fitness = cost(population)
        state, _ = strategy.tell(tell_key, population, fitness, state, params)
        return state, fitness.min()

    state, best = jax.lax.scan(step, state, jax.random.split(key, 15))
    print(*map(float, best[::5]), float(state.best_fitness))
