"""Comparison of results in structure, dtype, shape and value."""

from __future__ import annotations

from typing import Any

import numpy as np
from support.modules import jax

# Rounding of a chain of operations: each contributes half a unit in the last place, the condition
# of sums and of the transforms on them the rest; 2**12 units leave room for some thousand.
UNITS = 2.0**12
EPS = {True: float(np.finfo("float32").eps), False: float(np.finfo("float64").eps)}


def flatten(tree: Any) -> tuple[list[Any], str]:
    leaves, structure = jax.tree_util.tree_flatten(tree)
    return leaves, str(structure)


def type_of(leaf: Any) -> tuple[str, tuple[int, ...]]:
    found = np.asarray(leaf)
    return str(found.dtype), found.shape


def finite(tree: Any) -> bool:
    return all(np.isfinite(np.asarray(leaf)).all() for leaf in numeric(flatten(tree)[0]))


def largest(tree: Any) -> float:
    sizes = [np.abs(np.asarray(leaf)).max(initial=0.0) for leaf in numeric(flatten(tree)[0])]
    return float(max(sizes, default=0.0))


def numeric(leaves: list[Any]) -> list[Any]:
    return [leaf for leaf in leaves if np.asarray(leaf).dtype.kind in "biufc"]


def differences(got: Any, want: Any, narrow: bool = False, slack: Any = None) -> list[str]:
    """What is wrong with ``got``, one line for each leaf; empty where nothing is.

    ``narrow`` says that 32-bit floats took part. ``slack`` is a tree like ``want`` of how far each
    leaf may move besides.
    """
    got_leaves, got_structure = flatten(got)
    want_leaves, want_structure = flatten(want)
    if got_structure != want_structure:
        return [f"structure {got_structure}, expected {want_structure}"]
    spare = flatten(slack)[0] if slack is not None else [0.0] * len(want_leaves)
    found = []
    for n, (left, right, more) in enumerate(zip(got_leaves, want_leaves, spare, strict=True)):
        if type_of(left) != type_of(right):
            found.append(f"leaf {n} is {type_of(left)}, expected {type_of(right)}")
            continue
        have, expected = np.asarray(left), np.asarray(right)
        if expected.dtype.kind in "biu":
            wrong = have != expected
            if (wrong & (np.asarray(more) == 0)).any():
                found.append(f"leaf {n}: {have!r}, expected {expected!r}")
            continue
        if expected.dtype.kind not in "fc":
            continue
        single = narrow or expected.dtype in (np.float32, np.complex64)
        scale = max(1.0, float(np.abs(expected).max(initial=0.0)))
        allowed = UNITS * EPS[single] * scale + 16 * np.asarray(more)
        error = np.abs(have - expected)
        if not (error <= allowed).all():
            worst = float(np.max(np.where(np.isnan(error), np.inf, error / allowed)))
            found.append(
                f"leaf {n} is off by {worst:.3g} times the tolerance:\n{have!r}\n"
                f"expected\n{expected!r}"
            )
    return found
