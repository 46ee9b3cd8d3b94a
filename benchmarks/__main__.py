"""Print the table: ``python -m benchmarks [--smoke] [section ...]``.

Each section runs in a process of its own, with the cores and threads it asks for. The exit status
is 1 if a target is missed, and that of the failing section if one fails.
"""

import argparse
import dataclasses
import importlib
import json
import platform
import subprocess
import sys
from contextlib import nullcontext
from importlib.metadata import version

from benchmarks.comparison import Row, measure
from benchmarks.cores import environment, pinned_to_one_core
from benchmarks.table import render

# name: (module, whether it is held to one core)
SECTIONS = {
    "calls": ("benchmarks.bench_eager_calls", True),
    "eager": ("benchmarks.bench_eager_grad", True),
    "mlp": ("benchmarks.bench_mlp", True),
    "mlp-all-cores": ("benchmarks.bench_mlp", False),
    "workloads": ("benchmarks.bench_workloads", True),
    "workloads-all-cores": ("benchmarks.bench_workloads", False),
    "compile": ("benchmarks.bench_compile", True),
    "random": ("benchmarks.bench_random", True),
    "random-all-cores": ("benchmarks.bench_random", False),
    "loops": ("benchmarks.bench_loops", True),
    "startup": ("benchmarks.bench_startup", False),
}
RESULT = "benchmark rows: "


def run_here(section: str, smoke: bool) -> None:
    """Measure one section in this process and print its rows for the parent process."""
    name, one_core = SECTIONS[section]
    with pinned_to_one_core() if one_core else nullcontext(False) as pinned:
        module = importlib.import_module(name)
        rows = [measure(build(), smoke) for build in module.COMPARISONS.values()]
        rows += [limit(smoke) for limit in getattr(module, "LIMITS", ())]
    cores = "all cores" if not one_core else "one core" if pinned else "one thread, not pinned"
    result = {
        "title": f"{module.TITLE} ({cores})",
        "rows": [dataclasses.asdict(row) for row in rows],
    }
    print(RESULT + json.dumps(result))


def run_apart(section: str, smoke: bool) -> tuple[str, list[Row]]:
    """Measure one section in a fresh process."""
    print(f"measuring {section} ...", file=sys.stderr, flush=True)
    command = [sys.executable, "-m", "benchmarks", "--here", section]
    if smoke:
        command.append("--smoke")
    finished = subprocess.run(
        command, env=environment(SECTIONS[section][1]), stdout=subprocess.PIPE, text=True
    )
    if finished.returncode:
        sys.exit(f"section {section} failed with status {finished.returncode}")
    line = next(line for line in finished.stdout.splitlines() if line.startswith(RESULT))
    result = json.loads(line.removeprefix(RESULT))
    return result["title"], [Row(**row) for row in result["rows"]]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "sections",
        nargs="*",
        metavar="section",
        help=f"of {', '.join(SECTIONS)}; all if none is named",
    )
    parser.add_argument(
        "--smoke",
        action="store_true",
        help="run everything once and compare the answers, without a verdict",
    )
    parser.add_argument("--here", choices=SECTIONS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.sections if name not in SECTIONS]:
        parser.error(f"no section {', '.join(unknown)}; the sections are {', '.join(SECTIONS)}")
    if arguments.here:
        run_here(arguments.here, arguments.smoke)
        return 0

    measured = [run_apart(section, arguments.smoke) for section in arguments.sections or SECTIONS]
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "autograd", "jax"))
    print(f"CPython {platform.python_version()}, {libraries}, {platform.machine()}\n")
    print(render(measured, judged=not arguments.smoke))
    missed = sum(not row.met for _, rows in measured for row in rows)
    if arguments.smoke:
        print("\nall answers are the same; nothing was timed with care")
        return 0
    print(f"\n{missed} targets missed" if missed else "\nevery target met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
