"""Packages on top of JAX, run on fgrad: the list in docs/compat.md, made anew.

Each program beside this file uses one package and prints numbers. Run from the checkout, in an environment that has
fgrad and the packages but not JAX::

    python tests/support/compat_packages/run.py [package ...] --reference "python-with-jax"

Every program is run on fgrad, and by the reference, a command that runs Python with JAX and the packages; the numbers
must agree. Without a reference the programs only have to end well.
"""

from __future__ import annotations

import argparse
import math
import os
import shlex
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path

HERE = Path(__file__).parent
#: How packages are named in the registry, where that differs.
DISTRIBUTIONS = {"haiku": "dm-haiku", "jax_cosmo": "jax-cosmo", "pix": "dm-pix"}
_INSTALL = "import fgrad.compat; fgrad.compat.install(); "
_RUN = "import runpy, sys; runpy.run_path(sys.argv[1], run_name='__main__')"
#: Numbers are of 32 bits, and the sums in them are ordered differently.
RELATIVE, ABSOLUTE = 2e-3, 2e-4


def programs() -> list[str]:
    """The packages that there is a program for."""
    return sorted(path.stem.removeprefix("of_") for path in HERE.glob("of_*.py"))


def output(program: Path, command: list[str], on_fgrad: bool) -> list[str]:
    """What a program prints, run by a command.

    Raises
    ------
    RuntimeError
        With the last line of the error, if it fails.
    """
    code = (_INSTALL if on_fgrad else "") + _RUN
    environment = {k: v for k, v in os.environ.items() if k != "JAX_ENABLE_X64"}
    finished = subprocess.run(
        [*command, "-W", "ignore", "-c", code, str(program)],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    if finished.returncode:
        lines = finished.stderr.strip().splitlines() or ["no message"]
        raise RuntimeError(lines[-1])
    return finished.stdout.split()


def difference(ours: list[str], theirs: list[str]) -> str:
    """The first numbers that differ, or nothing."""
    if len(ours) != len(theirs):
        return f"{len(ours)} numbers, expected {len(theirs)}"
    for i, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        near = math.isclose(float(one), float(other), rel_tol=RELATIVE, abs_tol=ABSOLUTE)
        if not near and not one == other == "nan":
            return f"number {i} is {one}, expected {other}"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("packages", nargs="*", default=programs())
    parser.add_argument("--reference", default="", help="a command that runs Python with JAX")
    arguments = parser.parse_args()
    failed = 0
    for package in arguments.packages:
        program, begin = HERE / f"of_{package}.py", time.perf_counter()
        version = metadata.version(DISTRIBUTIONS.get(package, package))
        try:
            ours = output(program, [sys.executable], on_fgrad=True)
            outcome = "runs"
            if arguments.reference:
                theirs = output(program, shlex.split(arguments.reference), on_fgrad=False)
                outcome = difference(ours, theirs) or f"{len(ours)} numbers as with JAX"
                failed += outcome.startswith("number") or "expected" in outcome
        except RuntimeError as error:
            outcome = f"fails: {error}"
            failed += 1
        seconds = time.perf_counter() - begin
        print(f"{package:12} {version:12} {outcome} ({seconds:.0f} s)", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
