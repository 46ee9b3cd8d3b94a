"""A recurrent network unrolled over time: shared weights receive the sum over per-step copies.

    python examples/textbook_recurrent.py

The same weights act at every step. Give each step a copy of its own, take the gradient towards
every copy, and their sum over time is the gradient towards the shared weights. The gradients
of the copies also show how far back in time the network learns: the program prints the size of
each for a loss on the last output alone, where they fade with the distance.
"""

import numpy as np

import fgrad
import fgrad.numpy as fnp

STEPS, INPUTS, HIDDEN, OUTPUTS, BATCH = 16, 3, 8, 2, 4


def init(rng):
    def weights(*shape):
        return rng.standard_normal(shape) / np.sqrt(shape[0])

    return {
        "input": weights(INPUTS, HIDDEN),
        "hidden": 0.8 * weights(HIDDEN, HIDDEN),
        "bias": 0.1 * rng.standard_normal(HIDDEN),
        "output": weights(HIDDEN, OUTPUTS),
    }


def step(params, hidden, x):
    """One step in time: the new hidden state and the output."""
    hidden = fnp.tanh(hidden @ params["hidden"] + x @ params["input"] + params["bias"])
    return hidden, hidden @ params["output"]


def outputs(params_of_steps, xs):
    """The network unrolled; `params_of_steps` holds the parameters that each step uses."""
    hidden = fnp.zeros((BATCH, HIDDEN))
    result = []
    for params, x in zip(params_of_steps, xs, strict=True):
        hidden, y = step(params, hidden, x)
        result.append(y)
    return result


def loss_of_copies(params_of_steps, xs, targets):
    """Mean squared error over time and batch."""
    errors = fnp.stack(outputs(params_of_steps, xs)) - targets
    return fnp.mean(errors**2)


def loss(params, xs, targets):
    return loss_of_copies([params] * STEPS, xs, targets)


def last_loss_of_copies(params_of_steps, xs, targets):
    return fnp.mean((outputs(params_of_steps, xs)[-1] - targets[-1]) ** 2)


def along(direction, function, params, size=1e-5):
    """Derivative of the function along a direction in parameter space, by central differences."""

    def moved(by):
        return fgrad.tree.map(lambda p, d: p + by * d, params, direction)

    return (function(moved(size)) - function(moved(-size))) / (2 * size)


def main():
    rng = np.random.default_rng(2)
    params = init(rng)
    xs = rng.standard_normal((STEPS, BATCH, INPUTS))
    targets = rng.standard_normal((STEPS, BATCH, OUTPUTS))

    shared = fgrad.grad(loss)(params, xs, targets)
    copies = fgrad.grad(loss_of_copies)([params] * STEPS, xs, targets)
    summed = fgrad.tree.map(lambda *over_time: sum(over_time), *copies)
    print(f"gradient of {STEPS} steps, shared weights against the sum over per-step copies")
    for name in params:
        np.testing.assert_allclose(shared[name], summed[name], rtol=1e-10, atol=1e-14)
        error = np.abs(shared[name] - summed[name]).max()
        print(f"  {name:<8} {shared[name].shape!s:<8} off by {error:.1e}")

    direction = init(rng)
    slope = sum(np.sum(shared[name] * direction[name]) for name in params)
    difference = along(direction, lambda p: loss(p, xs, targets), params)
    np.testing.assert_allclose(slope, difference, rtol=1e-7)
    print(f"along a random direction: {slope:.9f} by grad, {difference:.9f} by differences")

    print("\nloss on the last output alone: gradient towards the hidden weights of each step")
    last = fgrad.grad(last_loss_of_copies)([params] * STEPS, xs, targets)
    sizes = [float(np.linalg.norm(copy["hidden"])) for copy in last]
    # The hidden state starts at zero, so that the first step does not use its hidden weights.
    assert sizes[0] == 0
    decades = np.log10(np.array(sizes[1:]) / min(sizes[1:]))
    for number, (size, decade) in enumerate(zip(sizes[1:], decades, strict=True), start=2):
        print(f"  step {number:2d}  {size:8.1e}  {'#' * round(6 * decade + 1)}")
    print(f"step 2 learns {sizes[1] / sizes[-1]:.1e} times as fast as step {STEPS}")


if __name__ == "__main__":
    main()
