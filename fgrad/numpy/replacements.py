"""What the user's line does with a traced value that it converts, and what to write in its place.

It is read from the running frame when an error is made. Where that does not tell, as in code without a
source, there is nothing to say, and messages stay general.
"""

from __future__ import annotations

import ast
import builtins
import dis
import importlib
import linecache
import sys
from types import FrameType, ModuleType
from typing import Any, NamedTuple

import numpy as np

import fgrad.numpy as fnp
from fgrad.source_info import user_source


class Use(NamedTuple):
    """What a line does with a value, as the subject of a sentence, and what to do instead."""

    what: str
    advice: str


#: Methods of ``x.at[i]`` for assignments that compute.
_UPDATES = {"+=": "add", "-=": "subtract", "*=": "multiply", "/=": "divide", "**=": "power"}
#: Where the functions of modules are that have other names, or no namesake, in fgrad.
_ELSEWHERE = {
    "math.comb": "fgrad.scipy.special.comb",
    "math.dist": "fgrad.numpy.linalg.norm(x - y)",
    "math.erf": "fgrad.scipy.special.erf",
    "math.erfc": "fgrad.scipy.special.erfc",
    "math.factorial": "fgrad.scipy.special.factorial",
    "math.fsum": "fgrad.numpy.sum",
    "math.gamma": "fgrad.scipy.special.gamma",
    "math.lgamma": "fgrad.scipy.special.gammaln",
    "cmath.phase": "fgrad.numpy.angle",
    "statistics.mean": "fgrad.numpy.mean",
    "statistics.fmean": "fgrad.numpy.mean",
    "statistics.median": "fgrad.numpy.median",
    "scipy.integrate.odeint": "fgrad.experimental.ode.odeint",
    "scipy.interpolate.interp1d": "fgrad.numpy.interp",
    "scipy.spatial.distance.cdist": "fgrad.numpy.linalg.norm(a[:, None] - b[None], axis=-1)",
    "scipy.optimize.brentq": "fgrad.lax.custom_root, whose solver may loop over known values",
    "scipy.optimize.fsolve": "fgrad.lax.custom_root, whose solver may loop over known values",
    "scipy.optimize.newton": "fgrad.lax.custom_root, whose solver may loop over known values",
    "scipy.optimize.root_scalar": "fgrad.lax.custom_root, whose solver may loop over known values",
}
_BY_CALLBACK = (
    "it has no counterpart in fgrad: call it by fgrad.pure_callback, with a derivative given by "
    "fgrad.custom_vjp"
)


def use_of_traced_value() -> Use | None:
    """What the user's running instruction does that asks for a conversion, if it can be read."""
    frame, below = _user_frame()
    if frame is None:
        return None
    return _of_line(frame) or _of_scipy(below)


def _of_line(frame: FrameType) -> Use | None:
    instructions = [i for i in dis.get_instructions(frame.f_code) if i.offset <= frame.f_lasti]
    if not instructions:
        return None
    name = instructions[-1].opname
    if name in ("STORE_SUBSCR", "STORE_SLICE"):
        return _of_assignment(frame, instructions)
    node = _expression(frame, instructions[-1])
    if isinstance(node, ast.Call):
        return _of_call(frame, node)
    if isinstance(node, ast.Subscript):
        return _of_index(frame, node)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return Use("the formatting of text by %", "use an f-string, as in f'{x}' or f'{x:.3f}'")
    return None


def argument_text(position: int, assignable: bool) -> str:
    """A positional argument of the call that the user's line makes, as it is written.

    It is empty if it is unknown, or if something `assignable` is asked for and it is not.
    """
    frame, _ = _user_frame()
    if frame is None:
        return ""
    running = [i for i in dis.get_instructions(frame.f_code) if i.offset <= frame.f_lasti]
    node = _expression(frame, running[-1]) if running else None
    if not isinstance(node, ast.Call) or any(isinstance(arg, ast.Starred) for arg in node.args):
        return ""
    if position >= len(node.args):
        return ""
    argument = node.args[position]
    if assignable and not isinstance(argument, (ast.Name, ast.Attribute, ast.Subscript)):
        return ""
    return _text(argument, "")


def _user_frame() -> tuple[FrameType | None, FrameType | None]:
    """The user's innermost frame, and the outermost one of SciPy that runs for it."""
    source = user_source(2)
    frame: FrameType | None = sys._getframe(2)
    below = None
    while frame is not None and source != (frame.f_code, frame.f_lasti):
        module = str(frame.f_globals.get("__name__"))
        if module.startswith("scipy.") and not module.startswith("scipy._"):
            below = frame
        frame = frame.f_back
    return frame, below


# ---- what the line says ------------------------------------------------------------------------


def _expression(frame: FrameType, instruction: dis.Instruction) -> ast.expr | None:
    """The expression that an instruction computes, from the source of its code."""
    place = instruction.positions
    if place is None:
        return None
    first, last, start, end = place
    if first is None or last is None or start is None or end is None:
        return None
    lines = linecache.getlines(frame.f_code.co_filename, frame.f_globals)[first - 1 : last]
    if len(lines) != last - first + 1:
        return None
    # Columns count bytes.
    encoded = [line.encode() for line in lines]
    encoded[-1] = encoded[-1][:end]
    encoded[0] = encoded[0][start:]
    try:
        return ast.parse(f"({b''.join(encoded).decode()}\n)", mode="eval").body
    except (SyntaxError, ValueError):
        return None


def _text(node: ast.AST, alternative: str) -> str:
    text = ast.unparse(node)
    return text if len(text) <= 40 and "\n" not in text else alternative


def _of_assignment(frame: FrameType, instructions: list[dis.Instruction]) -> Use:
    node = _expression(frame, instructions[-1])
    target, index = "out", "i"
    if isinstance(node, ast.Subscript):
        target, index = _text(node.value, "out"), _text(node.slice, "i")
        if isinstance(node.slice, ast.Tuple) and index != "i":
            index = index[1:-1]
    sign = "="
    for before in reversed(instructions[-5:-1]):
        if before.opname == "BINARY_OP" and before.argrepr in _UPDATES:
            sign = before.argrepr
            break
        if before.opname not in ("SWAP", "CACHE", "COPY"):
            break
    return Use(
        f"{target}[{index}] {sign} v would write a traced value into a NumPy array, which cannot hold one: it",
        f"make the array by fgrad.numpy, as in {target} = fgrad.numpy.zeros(shape), and write {target} = "
        f"{target}.at[{index}].{_UPDATES.get(sign, 'set')}(v), or collect the values in a list for "
        "fgrad.numpy.stack",
    )


def _of_index(frame: FrameType, node: ast.Subscript) -> Use | None:
    value = _resolved(frame, node.value)
    name = _text(node.value, "a")
    if value is np.r_ or value is np.c_:
        known = "r_" if value is np.r_ else "c_"
        return Use(f"{name}[...], which makes a NumPy array,", f"use fgrad.numpy.{known}[...]")
    if type(value) is np.ndarray:
        return Use(
            f"{name}[i] of a NumPy array {name}, with a traced index i,",
            f"index fgrad.numpy.asarray({name})[i]",
        )
    return None


def _resolved(frame: FrameType, node: ast.expr) -> Any:
    """What a dotted name stands for, found without running code of objects; else None."""
    if isinstance(node, ast.Name):
        for names in (frame.f_locals, frame.f_globals, vars(builtins)):
            if node.id in names:
                return names[node.id]
        return None
    if isinstance(node, ast.Attribute):
        owner = _resolved(frame, node.value)
        if isinstance(owner, (ModuleType, np.ndarray)) or _origin(owner).startswith("scipy."):
            return getattr(owner, node.attr, None)
    return None


def _origin(value: Any) -> str:
    """The module that an object, or else its class, comes from."""
    module = getattr(value, "__module__", None) or type(value).__module__
    return module if isinstance(module, str) else ""


# ---- what was called ---------------------------------------------------------------------------


def _of_call(frame: FrameType, node: ast.Call) -> Use | None:
    function = node.func
    text = ast.unparse(function)
    value = _resolved(frame, function)
    made = isinstance(function, ast.Call)
    while value is None and isinstance(function, ast.Call):
        # What a call has made, as in np.vectorize(f)(x).
        function = function.func
        value = _resolved(frame, function)
        text = f"{ast.unparse(function)}(...)"
    if value is None:
        return None
    if value is float or value is complex:
        return Use(
            f"{text}(x)",
            f"leave {text}() out, since functions of fgrad.numpy and operators take a traced value as it "
            "is; to print a value, use an f-string",
        )
    name = _public_name(frame, function, value)
    if name is None:
        return None
    taken = "is made for" if made else "takes"
    subject = f"{name if name.startswith('scipy.') else text}, which {taken} plain values,"
    return _in_place_of(name, subject)


def _of_scipy(frame: FrameType | None) -> Use | None:
    """The same for a call that cannot be read, from the function of SciPy that runs."""
    if frame is None:
        return None
    owner = frame.f_locals.get("self")
    name = frame.f_code.co_name if owner is None else type(owner).__name__
    name = f"{_public_module(str(frame.f_globals.get('__name__')))}.{name}"
    return _in_place_of(name, f"{name}, which takes plain values,")


def _public_module(module: str) -> str:
    parts = module.split(".")
    return ".".join(part for part in parts if not part.startswith("_") and part != "core")


def _in_place_of(name: str, subject: str) -> Use | None:
    """What to use in the place of a public function of another package."""
    module, _, last = name.rpartition(".")
    replacement = _ELSEWHERE.get(name)
    if replacement is None and module in ("numpy", "math", "cmath") and hasattr(fnp, last):
        replacement = f"fgrad.numpy.{last}"
    elif replacement is None and module.startswith(("numpy.", "scipy")):
        replacement = _namesake(module, last)
    if replacement is not None:
        return Use(subject, f"use {replacement}")
    if module.startswith("scipy"):
        return Use(subject, _BY_CALLBACK)
    return None


def _namesake(module: str, name: str) -> str | None:
    """The function of fgrad that has the name of one of NumPy or SciPy, in the module of that name."""
    package, *path = module.split(".")
    found: Any = importlib.import_module(f"fgrad.{package}")
    for part in (*path, name):
        found = getattr(found, part, None)
    return f"fgrad.{module}.{name}" if callable(found) else None


def _public_name(frame: FrameType, node: ast.expr, value: Any) -> str | None:
    """The name under which a package documents a function, with its module."""
    if isinstance(node, ast.Attribute):
        owner = _resolved(frame, node.value)
        if isinstance(owner, ModuleType):
            return f"{owner.__name__}.{node.attr}"
        if type(owner) is np.ndarray:
            return f"numpy.{node.attr}"
        above = _public_name(frame, node.value, owner)
        return None if above is None else f"{above}.{node.attr}"
    origin = _origin(value)
    if origin.partition(".")[0] not in ("numpy", "scipy", "math", "cmath", "statistics"):
        return None
    module = _public_module(origin)
    own = getattr(value, "__name__", None) or getattr(value, "name", None)
    for name in (own, getattr(node, "id", None), type(value).__name__):
        if isinstance(name, str) and hasattr(sys.modules.get(module), name):
            return f"{module}.{name}"
    return None
