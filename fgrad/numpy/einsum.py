"""Einstein summation: subscripts become a sequence of pairwise contractions.

Every operand is first brought to distinct labels (repeated ones become a diagonal), without axes of
size one that broadcast, and without labels that nobody else has. Then the operands are contracted in
pairs, along the path that `np.einsum_path` finds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from fgrad import dtypes
from fgrad.array import Array, plain, wrap
from fgrad.avals import Shape, aval_of
from fgrad.config import switches
from fgrad.errors import ArgumentError, ShapeError
from fgrad.numpy._support import ArrayLike, given_dtype, operand, refuse_out
from fgrad.numpy.diagonals import last_diagonal
from fgrad.primitives import elementwise as p
from fgrad.primitives.contraction import DotGeneral
from fgrad.primitives.families import Reshape, Sum
from fgrad.primitives.promotion import common_dtype
from fgrad.primitives.shape import Transpose, transpose

# A label is a letter of the subscripts, or a number: an axis of the ellipsis counted from its end.
Label = str | int
Labels = tuple[Label, ...]


# ---- subscripts ----------------------------------------------------------------------------------


def _interleaved(args: Sequence[Any]) -> tuple[str, list[Any]]:
    """Subscripts and operands of the form ``einsum(x, [0, 1], y, [1, 2], [0, 2])``."""
    operands = list(args[0 : len(args) - 1 : 2]) if len(args) % 2 else list(args[0::2])
    lists = [args[i] for i in range(1, len(args), 2)]
    output = args[-1] if len(args) % 2 else None
    names: dict[Any, str] = {}
    letters = iter("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    used = [item for labels in (*lists, output or ()) for item in labels if item is not Ellipsis]
    # In order, so that an implicit output is sorted as the numbers are.
    for item in sorted(set(used)):
        names[item] = next(letters, "")
        if not names[item]:
            raise ArgumentError("einsum: more than 52 different axes")

    def text(labels: Any) -> str:
        return "".join("..." if item is Ellipsis else names[item] for item in labels)

    subscripts = ",".join(text(labels) for labels in lists)
    return subscripts if output is None else f"{subscripts}->{text(output)}", operands


@lru_cache(maxsize=1024)
def _parsed(subscripts: str, ranks: tuple[int, ...]) -> tuple[tuple[Labels, ...], Labels]:
    """The labels of each operand and of the result."""
    text = subscripts.replace(" ", "")
    inputs, arrow, output = text.partition("->")
    terms = inputs.split(",")
    if len(terms) != len(ranks):
        raise ArgumentError(
            f"einsum: {subscripts!r} describes {len(terms)} operand{'s' * (len(terms) != 1)}, but {len(ranks)} "
            "were given"
        )
    letters = set(text) - set("->,.")
    if (
        any(not (c.isalpha() and c.isascii()) for c in letters)
        or text.count("-") != len(arrow) // 2
    ):
        raise ArgumentError(
            f"einsum: {subscripts!r} may hold letters, commas, '...' and one '->' only"
        )
    found = []
    widest = 0
    for i, (term, rank) in enumerate(zip(terms, ranks, strict=True)):
        before, dots, behind = term.partition("...")
        named = len(before) + len(behind)
        if "." in before + behind:
            raise ArgumentError(f"einsum: {term!r} in {subscripts!r} is not a list of labels")
        if named > rank or (named < rank and not dots):
            raise ShapeError(
                f"einsum: {term!r} in {subscripts!r} names {named} axes, but operand {i} has {rank}"
            )
        hidden = tuple(range(rank - named))[::-1]
        widest = max(widest, len(hidden))
        found.append((*before, *hidden, *behind))
    ellipsis = tuple(range(widest))[::-1]
    if arrow:
        before, dots, behind = output.partition("...")
        result: Labels = (*before, *(ellipsis if dots else ()), *behind)
        if widest and not dots:
            raise ArgumentError(
                f"einsum: the output of {subscripts!r} lacks the '...' whose axes its operands have"
            )
        for label in (*before, *behind):
            if result.count(label) > 1:
                raise ArgumentError(f"einsum: the output of {subscripts!r} names {label!r} twice")
            if not any(label in labels for labels in found):
                raise ArgumentError(
                    f"einsum: the output of {subscripts!r} names {label!r}, which no operand has"
                )
    else:
        every = [label for labels in found for label in labels if isinstance(label, str)]
        result = (*ellipsis, *sorted({label for label in every if every.count(label) == 1}))
    return tuple(found), result


def _sizes(labels: Sequence[Labels], shapes: Sequence[Shape], subscripts: str) -> dict[Label, int]:
    """The size of each label; size one broadcasts."""
    sizes: dict[Label, int] = {}
    for i, (names, shape) in enumerate(zip(labels, shapes, strict=True)):
        own: dict[Label, int] = {}
        for label, size in zip(names, shape, strict=True):
            if own.setdefault(label, size) != size:
                raise ShapeError(
                    f"einsum: {subscripts!r} repeats {label!r} in operand {i}, whose shape {shape} gives it "
                    f"the sizes {own[label]} and {size}"
                )
        for label, size in own.items():
            known = sizes.setdefault(label, size)
            if known == 1:
                sizes[label] = size
            elif size not in (1, known):
                name = repr(label) if isinstance(label, str) else "an axis of '...'"
                listed = ", ".join(map(str, shapes))
                raise ShapeError(
                    f"einsum: {subscripts!r} gives {name} the sizes {known} and {size}, in operands of shapes {listed}"
                )
    return sizes


# ---- plans -----------------------------------------------------------------------------------


class Plan:
    """The steps of a summation: functions of inside values, by their positions among all values."""

    __slots__ = ("labels", "shapes", "steps")

    def __init__(self, labels: Sequence[Labels], shapes: Sequence[Shape]) -> None:
        self.steps: list[tuple[Callable[..., Any], tuple[int, ...]]] = []
        self.labels = list(labels)
        self.shapes = list(shapes)

    def run(self, values: Sequence[Any]) -> Any:
        """The result for the operands."""
        made = list(values)
        for function, inputs in self.steps:
            made.append(function(*[made[i] for i in inputs]))
        return made[-1]

    def step(
        self, function: Callable[..., Any], inputs: tuple[int, ...], labels: Labels, shape: Shape
    ) -> int:
        """Enter a step; the position of its value."""
        self.steps.append((function, inputs))
        self.labels.append(labels)
        self.shapes.append(shape)
        return len(self.shapes) - 1

    def _arranged(self, x: int, order: Labels) -> int:
        labels, shape = self.labels[x], self.shapes[x]
        permutation = tuple(labels.index(label) for label in order)
        if permutation == tuple(range(len(permutation))):
            return x
        return self.step(
            Transpose(permutation), (x,), order, tuple(shape[axis] for axis in permutation)
        )

    def distinct(self, x: int) -> int:
        """An operand in which no label is repeated: of repeated ones, the diagonal is taken."""
        while len(set(labels := self.labels[x])) < len(labels):
            label = next(name for name in labels if labels.count(name) > 1)
            first = labels.index(label)
            second = labels.index(label, first + 1)
            rest = [axis for axis in range(len(labels)) if axis not in (first, second)]
            order = (*rest, first, second)
            kept = (*[labels[axis] for axis in rest], label)
            shape = tuple(self.shapes[x][axis] for axis in (*rest, first))

            def diagonals(value: Any, order: tuple[int, ...] = order) -> Any:
                return last_diagonal(transpose(value, order))

            x = self.step(diagonals, (x,), kept, shape)
        return x

    def without_stretched(self, x: int, sizes: dict[Label, int]) -> int:
        """Drop axes of size one whose label has another size: they broadcast."""
        labels, shape = self.labels[x], self.shapes[x]
        kept = [i for i, label in enumerate(labels) if shape[i] == sizes[label]]
        if len(kept) == len(labels):
            return x
        target = tuple(shape[i] for i in kept)
        return self.step(Reshape(target), (x,), tuple(labels[i] for i in kept), target)

    def summed(self, x: int, kept: set[Label]) -> int:
        """Sum over labels that nobody else has."""
        labels, shape = self.labels[x], self.shapes[x]
        axes = tuple(i for i, label in enumerate(labels) if label not in kept)
        if not axes:
            return x
        total = Sum(axes)
        rest = [i for i in range(len(labels)) if i not in axes]

        def sum_in_place(value: Any) -> Any:
            # Narrow integers are summed in 64 bits, but keep their dtype here.
            return p.convert(total(value), aval_of(value).dtype)

        return self.step(
            sum_in_place, (x,), tuple(labels[i] for i in rest), tuple(shape[i] for i in rest)
        )

    def pair(self, x: int, y: int, kept: set[Label]) -> int:
        """Contract two operands; labels not in `kept` are summed over."""
        x = self.summed(x, kept | set(self.labels[y]))
        y = self.summed(y, kept | set(self.labels[x]))
        xs, ys = self.labels[x], self.labels[y]
        if not xs or not ys:
            return self.step(p.mul, (x, y), xs or ys, self.shapes[x] or self.shapes[y])
        shared = [label for label in xs if label in ys]
        batch = [label for label in shared if label in kept]
        contracted = [label for label in shared if label not in kept]
        product = DotGeneral(
            tuple(xs.index(label) for label in contracted),
            tuple(ys.index(label) for label in contracted),
            tuple(xs.index(label) for label in batch),
            tuple(ys.index(label) for label in batch),
        )
        free = [label for labels in (xs, ys) for label in labels if label not in shared]
        labels = (*batch, *free)
        sizes = dict(zip((*xs, *ys), (*self.shapes[x], *self.shapes[y]), strict=True))
        return self.step(product, (x, y), labels, tuple(sizes[label] for label in labels))

    def finish(self, x: int, output: Labels) -> None:
        """Bring the last operand to the result's labels, in order."""
        x = self._arranged(self.summed(x, set(output)), output)
        if not self.steps:
            self.step(lambda value: value, (x,), output, self.shapes[x])


@lru_cache(maxsize=1024)
def planned(subscripts: str, shapes: tuple[Shape, ...], optimize: Any) -> Plan:
    """The steps for operands of these shapes."""
    labels, output = _parsed(subscripts, tuple(map(len, shapes)))
    sizes = _sizes(labels, shapes, subscripts)
    plan = Plan(labels, shapes)
    terms = [plan.without_stretched(plan.distinct(i), sizes) for i in range(len(shapes))]
    for step in _path(
        [plan.labels[i] for i in terms], [plan.shapes[i] for i in terms], output, optimize
    ):
        # Later positions first, so that the earlier ones stay valid.
        group = [terms.pop(i) for i in sorted(step, reverse=True)][::-1]
        while len(group) > 1:
            others = {label for i in (*group[2:], *terms) for label in plan.labels[i]}
            group[:2] = [plan.pair(group[0], group[1], others | set(output))]
        terms.extend(group)
    (last,) = terms
    plan.finish(last, output)
    return plan


def _path(
    terms: Sequence[Labels], shapes: Sequence[Shape], output: Labels, optimize: Any
) -> Sequence[tuple[int, ...]]:
    """Which operands to contract, step by step."""
    labels = list(dict.fromkeys(label for names in terms for label in names))
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    if len(terms) <= 2 or len(labels) > len(letters) or optimize is False:
        return [tuple(range(len(terms)))]
    name = dict(zip(labels, letters, strict=False))
    words = ",".join("".join(name[label] for label in names) for names in terms)
    subscripts = f"{words}->{''.join(name[label] for label in output)}"
    dummies = [np.broadcast_to(0.0, shape) for shape in shapes]
    path: list[tuple[int, ...]] = np.einsum_path(subscripts, *dummies, optimize=optimize)[0][1:]
    return path


def _strategy(optimize: Any) -> Any:
    """The argument `optimize` as `np.einsum_path` takes it, hashable."""
    if isinstance(optimize, (list, tuple)):
        return tuple(tuple(step) if isinstance(step, (list, tuple)) else step for step in optimize)
    if optimize in (True, "auto", "auto-hq", "dp", None):
        return "greedy"
    if isinstance(optimize, bool) or optimize in ("greedy", "optimal"):
        return optimize
    raise ArgumentError(
        f"einsum: optimize is {optimize!r}; give True, False, 'greedy', 'optimal' or a path"
    )


def einsum(
    subscripts: Any,
    /,
    *operands: Any,
    out: None = None,
    optimize: Any = "auto",
    precision: Any = None,
    preferred_element_type: Any = None,
    dtype: Any = None,
    out_sharding: Any = None,
) -> Array:
    """Sums of products, described by labels for the axes.

    Parameters
    ----------
    subscripts : str
        Labels for the axes of each operand, and after ``->`` those of the result. A label that the
        result lacks is summed over; ``...`` stands for axes that broadcast. Without ``->``, the result
        has the labels that occur once, in alphabetical order. Operands and lists of axis numbers may
        also be given in turn, as in ``einsum(x, [0, 1], y, [1, 2], [0, 2])``.
    *operands : array_like
        Axes of size one broadcast.
    optimize : bool, str or path
        How to find the order of contractions, as in `np.einsum_path`; False means from left to right.
    precision, out_sharding
        Accepted for compatibility.
    preferred_element_type, dtype : dtype-like, optional
        The dtype to sum in and to return.

    Returns
    -------
    Array
        Differentiable in both modes.

    Raises
    ------
    ArgumentError
        If the subscripts are malformed.
    ShapeError
        If operands have other numbers of axes than the subscripts, or sizes of a label disagree.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.einsum("ij,j->i", fnp.eye(2), fnp.array([2.0, 3.0]))
    Array([2., 3.], dtype=float64)
    """
    if out is dtype is preferred_element_type is None:
        inside = _of_one_dtype(subscripts, operands)
        if inside is not None:
            shapes = tuple([x.shape for x in inside])
            return wrap(planned(subscripts, shapes, _strategy(optimize)).run(inside))  # type: ignore[no-any-return]
    refuse_out(out, "einsum")
    text, given = _taken_apart(subscripts, operands, "einsum")
    xs = [operand(x, "einsum", f"operand {i}") for i, x in enumerate(given)]
    avals = [aval_of(x) for x in xs]
    wanted = given_dtype(preferred_element_type if dtype is None else dtype, "einsum")
    if any(aval.shape or not aval.weak for aval in avals) or wanted is not None:
        common = common_dtype(avals)
        working = common if wanted is None else dtypes.canonical(np.promote_types(common, wanted))
        xs = [p.convert(x, working) for x in xs]
    shapes = tuple([aval.shape for aval in avals])
    result = planned(text, shapes, _strategy(optimize)).run(xs)
    return wrap(result if wanted is None else p.convert(result, wanted))  # type: ignore[no-any-return]


def _of_one_dtype(subscripts: Any, operands: Sequence[Any]) -> list[Any] | None:
    """What is inside of arrays that are not traced and have nothing to be converted to."""
    if type(subscripts) is not str or not switches.unchanged:
        return None
    inside = [plain(x) for x in operands if type(x) is Array]
    if not inside or len(inside) != len(operands):
        return None
    kinds = {x.dtype if type(x) is np.ndarray else None for x in inside}
    return inside if len(kinds) == 1 and kinds <= dtypes.SUPPORTED else None


def _taken_apart(subscripts: Any, operands: Sequence[Any], name: str) -> tuple[str, list[Any]]:
    if isinstance(subscripts, str):
        return subscripts, list(operands)
    if len(operands) < 1:
        raise ArgumentError(
            f"{name}: give subscripts as a string, or operands and lists of axis numbers in turn"
        )
    return _interleaved((subscripts, *operands))


def einsum_path(
    subscripts: Any, /, *operands: ArrayLike, optimize: Any = "greedy"
) -> tuple[list[Any], Any]:
    """The order in which `einsum` contracts its operands.

    Parameters
    ----------
    subscripts : str
        As in `einsum`.
    *operands : array_like
        Only their shapes count.
    optimize : bool, str or path

    Returns
    -------
    path : list
        As ``np.einsum_path`` gives it.
    text : str
        A description of the contractions and their cost.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.einsum_path("ij,jk,kl->il", fnp.ones((2, 9)), fnp.ones((9, 9)), fnp.ones((9, 2)))[0]
    ['einsum_path', (0, 1), (0, 1)]
    """
    text, given = _taken_apart(subscripts, operands, "einsum_path")
    shapes = [aval_of(operand(x, "einsum_path")).shape for x in given]
    dummies = [np.broadcast_to(0.0, shape) for shape in shapes]
    chosen = "greedy" if optimize == "auto" else optimize
    return np.einsum_path(text, *dummies, optimize=chosen)
