"""The programs in examples/ end well. The textbook programs are run by their own tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
#: The last line that each prints, up to its figures.
LAST_LINES = {
    "characters.py": "held-out cross entropy in nats per character: LSTM",
    "convnet_digits.py": "accuracy on 360 unseen digits:",
    "digits.py": "wrote",
    "eight_schools.py": "worst R-hat",
    "fixed_point.py": "largest difference of implicit and unrolled gradients:",
    "logistic_regression.py": "gradient at most",
    "lotka_volterra.py": "typical relative error of the fit:",
    "mauna_loa.py": "60 unseen months: forecast",
    "newton_cg.py": "norm of the gradient: Newton",
    "private_sgd.py": "epsilon 2.56 at delta 1e-04:",
}
DRAWING = {"characters.py", "convnet_digits.py", "digits.py", "lotka_volterra.py", "mauna_loa.py"}


def test_every_example_is_run() -> None:
    programs = {path.name for path in EXAMPLES.glob("*.py")}
    textbook = {name for name in programs if name.startswith("textbook_")}
    assert programs - textbook == set(LAST_LINES)


@pytest.mark.parametrize("name", LAST_LINES)
def test_an_example_meets_its_target(name: str, tmp_path: Path) -> None:
    finished = subprocess.run(
        [sys.executable, str(EXAMPLES / name)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert finished.stdout.strip().splitlines()[-1].startswith(LAST_LINES[name])
    pictures = list(tmp_path.glob("*.png"))
    assert len(pictures) == (name in DRAWING)
