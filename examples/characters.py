"""Teach an LSTM to write like the Book of Genesis, letter by letter.

    python examples/characters.py [--out characters.png]

The recurrent network of Hochreiter and Schmidhuber (1997), with a gate to forget, reads windows of the
King James text through `lax.scan` and learns, by Adam, to say which character comes next. The last
tenth of the text is held out. The program prints what the network writes before and after training,
draws the loss, and ends with the cross entropy on the held-out text beside that of the frequencies of
single characters and of pairs; it exits with status 1 unless the network is better than both.
"""

import argparse
import gzip
import os
import sys
import time
from pathlib import Path
from typing import NamedTuple

# Products of this size gain nothing from a second thread. OpenBLAS reads this when it is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import matplotlib

matplotlib.use("Agg")  # the picture is written to a file; no display is needed

import matplotlib.pyplot as plt
import numpy as np
from tqdm import tqdm

import fgrad
import fgrad.numpy as fnp
from fgrad import lax

DATA = Path(__file__).parent / "data" / "genesis.txt.gz"
HIDDEN, WINDOW, BATCH = 96, 50, 24
PEAK_STEP, LARGEST_GRADIENT = 1e-2, 1.0


class State(NamedTuple):
    """What the network carries from character to character: arrays of shape (batch, HIDDEN)."""

    hidden: object
    cell: object


def init(rng, characters):
    def weights(rows, columns):
        return (rng.standard_normal((rows, columns)) / np.sqrt(rows)).astype(np.float32)

    bias = np.zeros(4 * HIDDEN, np.float32)
    bias[HIDDEN : 2 * HIDDEN] = 1.0  # to remember at first
    return {
        "input": weights(characters, 4 * HIDDEN),
        "recurrent": weights(HIDDEN, 4 * HIDDEN),
        "bias": bias,
        "output": weights(HIDDEN, characters) * np.float32(0.1),
        "output_bias": np.zeros(characters, np.float32),
    }


def zero_state(batch):
    return State(fnp.zeros((batch, HIDDEN), fnp.float32), fnp.zeros((batch, HIDDEN), fnp.float32))


def cell(params, state, driven):
    """One step; `driven` is what the character adds to the gates."""
    gates = driven + state.hidden @ params["recurrent"]
    write, keep, read, new = fnp.split(gates, 4, axis=-1)
    memory = fgrad.nn.sigmoid(keep) * state.cell + fgrad.nn.sigmoid(write) * fnp.tanh(new)
    return State(fgrad.nn.sigmoid(read) * fnp.tanh(memory), memory)


def logits(params, state, characters):
    """Scores of the next character, for characters of shape (time, batch)."""
    driven = params["input"][characters] + params["bias"]

    def step(state, row):
        state = cell(params, state, row)
        return state, state.hidden

    state, hidden = lax.scan(step, state, driven)
    return state, hidden @ params["output"] + params["output_bias"]


def cross_entropy(params, state, windows):
    """Mean surprise in nats at characters 1 and on of windows of shape (time + 1, batch)."""
    state, scores = logits(params, state, windows[:-1])
    log_probability = fgrad.nn.log_softmax(scores)
    chosen = fnp.take_along_axis(log_probability, windows[1:, :, None], axis=-1)
    return -chosen.mean(), state


def adam(params, grads, moments, count, step_size):
    size = fnp.sqrt(sum(fnp.vdot(g, g) for g in fgrad.tree.leaves(grads)))
    shrink = fnp.minimum(1.0, LARGEST_GRADIENT / size)
    mean, square = moments
    mean = fgrad.tree.map(lambda m, g: 0.9 * m + 0.1 * (shrink * g), mean, grads)
    square = fgrad.tree.map(lambda v, g: 0.99 * v + 0.01 * (shrink * g) ** 2, square, grads)
    scale = step_size * fnp.sqrt(1 - 0.99**count) / (1 - 0.9**count)
    params = fgrad.tree.map(
        lambda p, m, v: p - scale * m / (fnp.sqrt(v) + 1e-8), params, mean, square
    )
    return params, (mean, square)


loss_and_grad = fgrad.jit(fgrad.value_and_grad(cross_entropy, has_aux=True))
evaluate = fgrad.jit(cross_entropy)
update = fgrad.jit(adam)


@fgrad.jit
def write(params, first, draws):
    """Characters drawn one after the other; `draws` are numbers between 0 and 1."""

    def step(carry, draw):
        state, character = carry
        state, scores = logits(params, state, character[None])
        shares = fnp.cumsum(fgrad.nn.softmax(scores[0, 0] / 0.6))
        drawn = fnp.sum(shares < draw)[None]
        return (state, drawn), drawn[0]

    return lax.scan(step, (zero_state(1), first), draws)[1]


def load():
    with gzip.open(DATA, "rt") as file:
        text = file.read()
    letters = sorted(set(text))
    return letters, np.array([letters.index(letter) for letter in text])


def train(codes, letters, steps, rng):
    """Windows follow each other in each of BATCH strands of the text, and the state with them."""
    params = init(rng, len(letters))
    moments = fgrad.tree.map(np.zeros_like, params), fgrad.tree.map(np.zeros_like, params)
    strands = codes[: len(codes) // BATCH * BATCH].reshape(BATCH, -1).T
    losses, state, place = [], zero_state(BATCH), 0
    progress = tqdm(range(1, steps + 1), unit="step", mininterval=0.5)
    for count in progress:
        if place + WINDOW + 1 > len(strands):
            place, state = int(rng.integers(WINDOW)), zero_state(BATCH)
        windows = strands[place : place + WINDOW + 1]
        place += WINDOW
        (loss, state), grads = loss_and_grad(params, state, windows)
        step_size = np.float32(PEAK_STEP * min(count / 20, 1.0) * (1 - count / (steps + 1)) ** 0.5)
        params, moments = update(params, grads, moments, count, step_size)
        losses.append(float(loss))
        if count % 20 == 0:
            progress.set_postfix(loss=f"{np.mean(losses[-20:]):.3f}", refresh=False)
    return params, losses


def frequencies(codes, held_out, count):
    """Cross entropies of models by the frequencies of characters, and of pairs of characters."""
    single = np.bincount(codes, minlength=count) + 1.0
    pairs = np.ones((count, count))
    np.add.at(pairs, (codes[:-1], codes[1:]), 1.0)
    single, pairs = single / single.sum(), pairs / pairs.sum(axis=1, keepdims=True)
    return (
        -np.log(single[held_out[1:]]).mean(),
        -np.log(pairs[held_out[:-1], held_out[1:]]).mean(),
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=250, help="updates of the weights")
    parser.add_argument("--out", type=Path, default=Path("characters.png"), help="the picture")
    arguments = parser.parse_args()
    begin = time.perf_counter()
    letters, codes = load()
    cut = len(codes) * 9 // 10
    rng = np.random.default_rng(0)
    params, losses = train(codes[:cut], letters, arguments.steps, rng)
    held_out = codes[cut:]
    strands = held_out[: len(held_out) // 40 * 40].reshape(40, -1).T
    entropy = float(evaluate(params, zero_state(40), strands)[0])
    single, pairs = frequencies(codes[:cut], held_out, len(letters))

    def sample(params):
        drawn = write(params, np.array([letters.index("\n")]), rng.random(300))
        return "".join(letters[i] for i in np.asarray(drawn))

    print(f"before:\n{sample(init(np.random.default_rng(0), len(letters)))}\n")
    print(f"after:\n{sample(params)}\n")
    figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
    axes.plot(losses, color="tab:blue", label="training windows")
    for value, label in ((single, "single characters"), (pairs, "pairs"), (entropy, "LSTM")):
        axes.axhline(value, linestyle="--", color="black", alpha=0.5)
        axes.text(len(losses), value, f" {label}", va="center")
    axes.set(xlabel="step", ylabel="cross entropy (nats per character)", title="Genesis")
    axes.legend()
    figure.savefig(arguments.out, dpi=120)
    print(f"wrote {arguments.out} after {time.perf_counter() - begin:.1f} s")
    print(
        f"held-out cross entropy in nats per character: LSTM {entropy:.3f}, "
        f"frequencies of pairs {pairs:.3f}, of single characters {single:.3f}"
    )
    return 0 if entropy < pairs < single else 1


if __name__ == "__main__":
    sys.exit(main())
