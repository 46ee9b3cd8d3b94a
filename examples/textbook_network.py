"""A fully connected network with softmax and cross entropy, as a chain of Jacobians.

    python examples/textbook_network.py

The network is a composition of stages, each a function from vectors to vectors. The program takes
the Jacobian of every stage in both modes and compares it with its closed form: the weights for a
product, a diagonal for an elementwise activation, `diag(p) - p p'` for softmax and one row for the
cross entropy. The product of the Jacobians, from the loss back to the input, equals `grad`, and cut
off at a layer it gives the gradients of that layer's weights and biases.
"""

from itertools import pairwise

import numpy as np

import fgrad
import fgrad.numpy as fnp

SIZES = (6, 5, 4, 3)
ACTIVATIONS = (fnp.tanh, fgrad.nn.sigmoid)


def init(rng):
    return [
        {"w": rng.standard_normal((fan_out, fan_in)), "b": rng.standard_normal(fan_out)}
        for fan_in, fan_out in pairwise(SIZES)
    ]


def affine(layer, x):
    return layer["w"] @ x + layer["b"]


def softmax(z):
    shifted = fnp.exp(z - fnp.max(z))
    return shifted / fnp.sum(shifted)


def cross_entropy(p, target):
    """Of the predicted probabilities `p` under the target distribution."""
    return -fnp.sum(target * fnp.log(p))


def stages(params, target):
    """The stages in order: (name, function of the value before it)."""
    *hidden, last = params
    for number, (layer, activation) in enumerate(zip(hidden, ACTIVATIONS, strict=True), start=1):
        yield f"product {number}", lambda x, layer=layer: affine(layer, x)
        yield f"activation {number}", activation
    yield f"product {len(params)}", lambda x: affine(last, x)
    yield "softmax", softmax
    yield "cross entropy", lambda p: cross_entropy(p, target)


def loss(params, x, target):
    for _, stage in stages(params, target):
        x = stage(x)
    return x


def closed_form(name, params, target, before, after):
    """The Jacobian of the stage called `name`, in NumPy, from the values before and after it."""
    match name.split():
        case ["product", number]:
            return params[int(number) - 1]["w"]
        case ["activation", "1"]:
            return np.diag(1 - after**2)
        case ["activation", "2"]:
            return np.diag(after * (1 - after))
        case ["softmax"]:
            return np.diag(after) - np.outer(after, after)
        case ["cross", "entropy"]:
            return -target / before
    raise ValueError(f"no closed form for {name!r}")


def check(name, got, expected):
    np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-13, err_msg=name)
    print(f"  {name:<46} {np.abs(got - expected).max():8.1e}")


def main():
    rng = np.random.default_rng(1)
    params = init(rng)
    x = rng.standard_normal(SIZES[0])
    target = np.eye(SIZES[-1])[1]

    print(f"{'Jacobian of each stage':<48} off by")
    jacobians = []
    value = x
    for name, stage in stages(params, target):
        after = stage(value)
        expected = closed_form(name, params, target, np.asarray(value), np.asarray(after))
        for mode in (fgrad.jacrev, fgrad.jacfwd):
            jacobian = np.asarray(mode(stage)(value))
            check(f"{name}, {mode.__name__}, {jacobian.shape}", jacobian, expected)
        jacobians.append(jacobian)
        value = after

    print("\nthe chain, from the loss back")
    by_params, by_input = fgrad.grad(loss, argnums=(0, 1))(params, x, target)
    layers = {f"product {number}": number for number in range(1, len(params) + 1)}
    names = [name for name, _ in stages(params, target)]
    values = [x]
    for _, stage in stages(params, target):
        values.append(np.asarray(stage(values[-1])))
    row = np.array(1.0)
    for name, jacobian, before in reversed(list(zip(names, jacobians, values[:-1], strict=True))):
        if name in layers:
            gradient = by_params[layers[name] - 1]
            check(f"weights of {name}: row outer input", gradient["w"], np.outer(row, before))
            check(f"biases of {name}: row", gradient["b"], row)
        row = row @ jacobian if row.ndim else row * jacobian
        if name == "softmax":
            check("softmax and cross entropy: p - target", row, values[-2] - target)
    check("input: the whole chain", by_input, row)
    print(f"\nloss {float(value):.6f}; the chain of Jacobians is the gradient")


if __name__ == "__main__":
    main()
