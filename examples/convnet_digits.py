"""A small convolution net that reads handwritten digits.

    python examples/convnet_digits.py [--out convnet_digits.png]

Two convolutions with max pooling between them and one dense layer, trained by Adam on images that are
moved a little at random. The whole pass over the training rows is one compiled `scan`. Settings were
chosen on validation rows; the test rows are used once. The program draws the filters it has learnt and the
test images that it gets wrong, and ends with the accuracy; it exits with status 1 if that is below the
target.
"""

import argparse
import gzip
import os
import sys
import time
from pathlib import Path

# Products of this size gain nothing from a second thread, and waiting for one costs much where the
# cores are busy. NumPy's OpenBLAS reads this when it is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import matplotlib

matplotlib.use("Agg")  # the picture is written to a file; no display is needed

import matplotlib.pyplot as plt
import numpy as np

import fgrad
import fgrad.numpy as fnp
from fgrad import lax, random

DATA = Path(__file__).parent / "data" / "digits.csv.gz"
VALIDATION_ROWS, TEST_ROWS = 237, 360
BATCH, EPOCHS, PEAK_STEP = 40, 30, 1e-2
FILTERS = 16, 32
LAYOUT = ("NHWC", "HWIO", "NHWC")
TARGET = 0.97


# --- the net: pure functions of (parameters, images) ---------------------------------------------


def init(key):
    """Weights in float32, drawn as He et al. do for relu; biases at zero."""
    first, second = FILTERS
    shapes = {"first": (3, 3, 1, first), "second": (3, 3, first, second), "dense": (4 * second, 10)}
    draw = fgrad.nn.initializers.he_normal()
    return {
        name: {
            "w": draw(key, shape, np.float32),
            "b": np.zeros(shape[-1], np.float32),
        }
        for (name, shape), key in zip(shapes.items(), random.split(key, 3), strict=True)
    }


def convolve(layer, images, padding):
    answer = lax.conv_general_dilated(images, layer["w"], (1, 1), padding, dimension_numbers=LAYOUT)
    return fgrad.nn.relu(answer + layer["b"])


def pool(images):
    """The largest value of each two by two."""
    size = (1, 2, 2, 1)
    return lax.reduce_window(images, -fnp.inf, lax.max, size, size, "VALID")


def logits(params, images):
    """Of images of shape (rows, 8, 8)."""
    x = convolve(params["first"], images[..., None], "SAME")
    x = convolve(params["second"], pool(x), "SAME")
    x = pool(x).reshape(images.shape[0], -1)
    return x @ params["dense"]["w"] + params["dense"]["b"]


def loss(params, images, digits):
    """Mean cross entropy, in nats."""
    log_probability = fgrad.nn.log_softmax(logits(params, images))
    return -fnp.take_along_axis(log_probability, digits[:, None], axis=1).mean()


@fgrad.jit
def accuracy(params, images, digits):
    return fnp.mean(fnp.argmax(logits(params, images), axis=-1) == digits)


# --- training ------------------------------------------------------------------------------------


def moved(key, images):
    """Each image moved by -1, 0 or 1 pixel along each axis; what comes in at the border is empty."""
    corners = random.randint(key, (images.shape[0], 2), 0, 3)
    padded = fnp.pad(images, ((0, 0), (1, 1), (1, 1)))

    def cut(image, corner):
        return lax.dynamic_slice(image, (corner[0], corner[1]), (8, 8))

    return fgrad.vmap(cut)(padded, corners)


def adam(params, state, gradient, step):
    """The state is the number of steps and the running means of the gradient and of its square."""
    count, mean, square = state
    count = count + 1
    mean = fgrad.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, gradient)
    square = fgrad.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, square, gradient)
    scale = step * fnp.sqrt(1 - 0.99**count) / (1 - 0.9**count)

    def move(p, m, v):
        return p - scale * m / (fnp.sqrt(v) + 1e-8)

    return fgrad.tree.map(move, params, mean, square), (count, mean, square)


@fgrad.jit
def epoch(params, state, key, images, digits, step):
    """One pass over the rows in a random order: the new parameters and state, and the mean loss."""
    for_order, for_moves = random.split(key)
    batches = images.shape[0] // BATCH
    rows = random.permutation(for_order, images.shape[0])[: batches * BATCH].reshape(batches, BATCH)

    def update(carry, batch):
        rows, key = batch
        value, gradient = fgrad.value_and_grad(loss)(
            carry[0], moved(key, images[rows]), digits[rows]
        )
        return adam(*carry, gradient, step), value

    carry, losses = lax.scan(update, (params, state), (rows, random.split(for_moves, batches)))
    return *carry, losses.mean()


def load(rng):
    """Training, validation and test rows: images of shape (rows, 8, 8) in [0, 1], and digits."""
    with gzip.open(DATA, "rt") as file:
        table = np.loadtxt(file, delimiter=",", dtype=np.int32)
    table = rng.permutation(table)
    images, digits = (table[:, :64] / 16).astype(np.float32).reshape(-1, 8, 8), table[:, 64]
    ends = [len(table) - VALIDATION_ROWS - TEST_ROWS, len(table) - TEST_ROWS]
    return zip(np.split(images, ends), np.split(digits, ends), strict=True)


def draw(params, images, digits, predicted, path):
    figure = plt.figure(figsize=(10, 3.5), layout="constrained")
    left, right = figure.subfigures(1, 2)
    left.suptitle("filters of the first layer")
    for i, axes in enumerate(left.subplots(4, 4).flat):
        axes.imshow(params["first"]["w"][:, :, 0, i], cmap="coolwarm")
        axes.set_axis_off()
    wrong = np.flatnonzero(predicted != digits)
    right.suptitle(f"{len(wrong)} of {len(digits)} unseen digits are read wrongly")
    for i, axes in enumerate(right.subplots(2, 6).flat):
        axes.set_axis_off()
        if i < len(wrong):
            row = wrong[i]
            axes.imshow(images[row], cmap="gray_r")
            axes.set_title(f"{digits[row]} as {predicted[row]}", fontsize=8)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=7300, help="of the split and of all draws")
    parser.add_argument("--out", type=Path, default=Path("convnet_digits.png"), help="the picture")
    arguments = parser.parse_args()

    begin = time.perf_counter()
    training, validation, test = load(np.random.default_rng(arguments.seed))
    for_params, *keys = random.split(random.key(arguments.seed), EPOCHS + 1)
    params = init(for_params)
    zeros = fgrad.tree.map(np.zeros_like, params)
    state = (0, zeros, zeros)
    for number, key in enumerate(keys):
        step = np.float32(PEAK_STEP * 0.5 * (1 + np.cos(np.pi * number / EPOCHS)))
        params, state, value = epoch(params, state, key, *training, step)
        if (number + 1) % 10 == 0:
            print(
                f"epoch {number + 1}: loss {value:.4f} on moved images, "
                f"validation accuracy {accuracy(params, *validation):.1%}"
            )
    weights = sum(leaf.size for leaf in fgrad.tree.leaves(params))
    print(f"{weights} weights trained in {time.perf_counter() - begin:.1f} s")
    predicted = np.argmax(logits(params, test[0]), axis=-1)
    draw(params, *test, predicted, arguments.out)
    print(f"wrote {arguments.out}")
    right = np.mean(predicted == test[1])
    print(f"accuracy on {TEST_ROWS} unseen digits: {right:.2%}; target {TARGET:.0%}")
    return 0 if right >= TARGET else 1


if __name__ == "__main__":
    sys.exit(main())
