"""The table of results, as text."""

import math
from collections.abc import Sequence

from benchmarks.comparison import Row

HEADINGS = ("", "fgrad", "against", "", "ratio", "target", "")


def duration(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


def amount(value: float, unit: str) -> str:
    return duration(value) if unit == "s" else f"{value:,.0f} {unit}"


def cells(row: Row, judged: bool) -> tuple[str, ...]:
    if row.ratio is None:
        ratio, target = "", f"<= {amount(row.target, row.unit)}"
    else:
        ratio, target = f"{row.ratio:.3f}", f"<= {row.target:.3g}"
    other = "" if row.other_seconds is None else amount(row.other_seconds, row.unit)
    verdict = ("met" if row.met else "MISSED") if judged else "same answer"
    if math.isinf(row.target):
        target, verdict = "", "reported" if judged else verdict
    return row.name, amount(row.seconds, row.unit), row.other_name, other, ratio, target, verdict


def render(sections: Sequence[tuple[str, Sequence[Row]]], judged: bool = True) -> str:
    """The sections one below the other, in columns; `judged` says for each row if it is met."""
    lines = {title: [cells(row, judged) for row in rows] for title, rows in sections}
    every = [HEADINGS, *(line for body in lines.values() for line in body)]
    widths = [max(map(len, column)) for column in zip(*every, strict=True)]

    def join(line: Sequence[str]) -> str:
        left = {0, 2, 6}
        padded = (
            cell.ljust(width) if column in left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        return "  ".join(padded).rstrip()

    out = [join(HEADINGS)]
    for title, body in lines.items():
        out += ["", title, *(join(line) for line in body)]
    return "\n".join(out)
