"""Hamiltonian Monte Carlo of the eight schools: chains by `vmap`, transitions by `scan`.

    python examples/eight_schools.py

Eight schools coached pupils for a test, and each estimated the effect, with a known standard error (D. B.
Rubin, 1981). The effects come from one population, whose mean mu and spread tau are sought. The program
samples z in effect = mu + tau * z rather than the effects, since then the posterior has no narrow funnel
at small tau. What is written is one chain; `vmap` runs several side by side, each adapting its own step
length while it warms up. The posterior means are printed beside those that posteriordb publishes (M.
Magnusson et al., https://github.com/stan-dev/posteriordb, `eight_schools-eight_schools_noncentered`), and
beside an integral over mu and tau on a grid, where the effects integrate out. The last line has the worst
R-hat and the least effective sample size; the program exits with status 1 if they or a mean are not good.
"""

import sys
import time

import numpy as np
import scipy.stats

import fgrad
import fgrad.numpy as fnp
from fgrad import lax, random
from fgrad.scipy import stats

EFFECTS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
#: Posterior means with their Monte Carlo errors in posteriordb.
PUBLISHED = {"mu": (4.411, 0.033), "tau": (3.602, 0.032)}
CHAINS, WARM_UP, DRAWS = 8, 1000, 2000
LEAPS = 12
ACCEPTED_SHARE = 0.9  # of the proposals, wanted while the step length adapts
RHAT_TARGET, EFFECTIVE_TARGET = 1.01, 4000


def log_posterior(position):
    """Up to a constant, of mu, the logarithm of tau, and z of each school."""
    mu, log_tau, z = position["mu"], position["log_tau"], position["z"]
    tau = fnp.exp(log_tau)
    return (
        stats.norm.logpdf(mu, 0, 5)
        + stats.cauchy.logpdf(tau, 0, 5)
        + log_tau  # the density of log tau is that of tau, times tau
        + stats.norm.logpdf(z).sum()
        + stats.norm.logpdf(EFFECTS, mu + tau * z, ERRORS).sum()
    )


slope = fgrad.grad(log_posterior)


def energy(position, momentum):
    return 0.5 * sum(fnp.vdot(p, p) for p in momentum.values()) - log_posterior(position)


def add(tree, factor, direction):
    return fgrad.tree.map(lambda x, d: x + factor * d, tree, direction)


def leapfrog(position, momentum, step):
    """Positions and momenta after some steps of Hamilton's equations."""

    def leap(_, state):
        position, momentum = state
        position = add(position, step, momentum)
        return position, add(momentum, step, slope(position))

    # Two half kicks in a row are one: the first is half a kick, and the last is half taken back.
    momentum = add(momentum, 0.5 * step, slope(position))
    position, momentum = lax.fori_loop(0, LEAPS, leap, (position, momentum))
    return position, add(momentum, -0.5 * step, slope(position))


def transition(position, step, key):
    """The next draw of a chain, and the probability with which its proposal was accepted."""
    for_momentum, for_length, for_choice = random.split(key, 3)
    drawn = random.normal(for_momentum, (10,))
    momentum = {"mu": drawn[0], "log_tau": drawn[1], "z": drawn[2:]}
    # Steps of unequal length keep a chain from returning to where it began, orbit after orbit.
    length = step * random.uniform(for_length, minval=0.5, maxval=1.0)
    proposal, turned = leapfrog(position, momentum, length)
    rise = energy(position, momentum) - energy(proposal, turned)
    probability = fnp.where(fnp.isnan(rise), 0.0, fnp.exp(fnp.minimum(rise, 0.0)))
    accepted = random.uniform(for_choice) < probability
    moved = fgrad.tree.map(lambda new, old: fnp.where(accepted, new, old), proposal, position)
    return moved, probability


def chain(key):
    """The draws of one chain from a random start, as arrays with one row a draw."""
    for_start, for_warm_up, for_draws = random.split(key, 3)
    drawn = random.uniform(for_start, (10,), minval=-2.0, maxval=2.0)
    start = {"mu": drawn[0], "log_tau": drawn[1], "z": drawn[2:]}

    def warm_up(state, numbered):
        position, log_step = state
        number, key = numbered
        position, probability = transition(position, fnp.exp(log_step), key)
        log_step = log_step + (probability - ACCEPTED_SHARE) / fnp.sqrt(1.0 + number)
        return (position, log_step), log_step

    numbered = (fnp.arange(WARM_UP, dtype=float), random.split(for_warm_up, WARM_UP))
    (position, _), log_steps = lax.scan(warm_up, (start, fnp.log(0.1)), numbered)
    step = fnp.exp(log_steps[WARM_UP // 2 :].mean())

    def draw(position, key):
        position, probability = transition(position, step, key)
        return position, (position, probability)

    return lax.scan(draw, position, random.split(for_draws, DRAWS))[1]


sample = fgrad.jit(fgrad.vmap(chain))


def diagnose(draws):
    """Split R-hat and effective sample size of draws of shape (chains, draws).

    As in A. Vehtari, A. Gelman, D. Simpson, B. Carpenter and P.-C. Bürkner, *Rank-normalization, folding,
    and localization: an improved R-hat*, Bayesian Analysis 16 (2021), before the ranks are normalised.
    """
    halves = np.reshape(draws, (2 * draws.shape[0], -1))
    count = halves.shape[1]
    within = halves.var(axis=1, ddof=1).mean()
    total = within * (count - 1) / count + halves.mean(axis=1).var(ddof=1)
    centred = halves - halves.mean(axis=1, keepdims=True)
    spectrum = np.abs(np.fft.rfft(centred, 2 * count)) ** 2
    covariance = np.fft.irfft(spectrum)[:, :count].mean(axis=0) / count
    correlation = 1 - (within - covariance * count / (count - 1)) / total
    correlation[0] = 1
    # Sums of neighbours are positive and fall for a reversible chain: what comes after is noise.
    pairs = np.minimum.accumulate(correlation[: count // 2 * 2].reshape(-1, 2).sum(axis=1))
    time_to_forget = max(2 * pairs[pairs > 0].sum() - 1, 1 / np.log10(halves.size))
    return np.sqrt(total / within), halves.size / time_to_forget


def integrate():
    """The posterior means of mu and tau on a grid: given both, an estimate of a school is normal."""
    mu, log_tau = np.linspace(-30, 40, 701), np.linspace(-10, 7, 1701)
    tau = np.exp(log_tau)[:, None, None]
    spread = np.sqrt(ERRORS**2 + tau**2)
    density = scipy.stats.norm.logpdf(EFFECTS, mu[:, None], spread).sum(axis=-1)
    density += scipy.stats.norm.logpdf(mu, 0, 5) + scipy.stats.cauchy.logpdf(tau[..., 0], 0, 5)
    weight = np.exp(density + log_tau[:, None])
    weight /= weight.sum()
    return {"mu": (weight * mu).sum(), "tau": (weight * tau[..., 0]).sum()}


def main():
    begin = time.perf_counter()
    draws, probability = sample(random.split(random.key(1981), CHAINS))
    seconds = time.perf_counter() - begin
    print(
        f"{CHAINS} chains of {WARM_UP} + {DRAWS} draws in {seconds:.1f} s; "
        f"{probability.mean():.0%} of the proposals accepted"
    )

    tau = np.exp(draws["log_tau"])
    effects = draws["mu"][..., None] + tau[..., None] * draws["z"]
    sought = {"mu": draws["mu"], "tau": tau}
    sought |= {f"effect of school {'ABCDEFGH'[i]}": effects[..., i] for i in range(8)}
    exact = integrate()
    worst, fewest, right = 0.0, np.inf, True
    for name, values in sought.items():
        rhat, effective = diagnose(np.asarray(values))
        worst, fewest = max(worst, rhat), min(fewest, effective)
        error = values.std() / np.sqrt(effective)
        line = f"{name:18} {values.mean():6.3f} +- {error:.3f}"
        if name in exact:
            mean, published_error = PUBLISHED[name]
            line += f"   published {mean:.3f} +- {published_error:.3f}   integral {exact[name]:.3f}"
            right &= bool(abs(values.mean() - exact[name]) < 4 * error)
        print(line)
    if not right:
        print("a posterior mean is off by more than four of its standard errors")
    print(
        f"worst R-hat {worst:.4f}, target {RHAT_TARGET}; "
        f"least effective sample size {fewest:.0f}, target {EFFECTIVE_TARGET}"
    )
    return 0 if right and worst < RHAT_TARGET and fewest > EFFECTIVE_TARGET else 1


if __name__ == "__main__":
    sys.exit(main())
