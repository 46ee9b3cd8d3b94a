"""Writing a compiled function as a module that needs NumPy, and not fgrad."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from fgrad import _tree, dtypes
from fgrad.avals import Aval
from fgrad.compiler.module import Place, module_text
from fgrad.compiler.standins import Leaf
from fgrad.errors import ArgumentError, ExportError
from fgrad.source_info import boundary, function_name, function_text
from fgrad.tracing import hoist_constants
from fgrad.transforms._arguments import check_callable, signature_names
from fgrad.transforms.make_jaxpr import trace_to_jaxpr


@boundary
def export(f: Callable[..., Any], *args: Any, path: str | os.PathLike[str]) -> Path:
    """Write a function, compiled for arguments of these types, as a Python module that needs no fgrad.

    The module imports NumPy, and SciPy where the function uses a special function or a
    factorisation. It has one public function, with the arguments of `f` and its name (that of the
    file for a lambda expression or the result of a transform), which gives the same bits as
    ``fgrad.jit(f)`` for arguments of the types of `args`, and refuses others.
    Small constants are written into the source; where there are large ones, they go into a file
    beside the module, of the same name with the ending ``.npz``, which the module reads.

    Parameters
    ----------
    f : callable
        A function of arrays, or of trees of arrays in dicts, lists and tuples; transformed or not.
    *args
        Arguments of the types to compile for: arrays, Python numbers, or `ShapeDtypeStruct`.
    path : str or path
        The file to write, whose name ends in ``.py``.

    Returns
    -------
    pathlib.Path
        The file.

    Raises
    ------
    ExportError
        If the program calls a Python function at run time, or takes or returns what NumPy code
        cannot hold, such as random keys with a type of their own.
    ArgumentError
        If `path` does not end in ``.py``.

    Examples
    --------
    >>> import os, tempfile
    >>> import fgrad
    >>> import fgrad.numpy as fnp
    >>> def loss(w):
    ...     return fnp.sum(w ** 2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = fgrad.export(fgrad.value_and_grad(loss), fnp.ones(3), path=folder + "/loss.py")
    ...     text = path.read_text()
    >>> "fgrad" in [line.split()[1] for line in text.splitlines() if line.startswith("import ")]
    False
    """
    check_callable(f, "export")
    target = Path(path)
    if target.suffix != ".py" or not target.stem.isidentifier():
        raise ArgumentError(
            f"export of {function_text(f)}: the path is {str(path)!r}; give the name of a Python module, which "
            "ends in .py"
        )
    jaxpr, out_treedef = trace_to_jaxpr(f, args, {}, "export")
    closed, captured = hoist_constants(jaxpr)
    if captured:
        raise ExportError(
            f"export of {function_text(f)}: it is called inside of a transform, whose values it uses; export "
            "it outside"
        )
    name = function_name(f)
    if not name.isidentifier():
        # A lambda expression, or the result of a transform.
        name = target.stem
    parameters = [re.sub(r"\W+", "_", n).strip("_") for n in signature_names(f, len(args))]
    leaves, treedef = _tree.flatten(args)
    types = [_leaf(aval, f) for aval in closed.in_avals]
    takes = _tree.unflatten(treedef, [Place(i) for i in range(len(leaves))])
    expected = [_with_types(_plain_tree(tree, f, "takes"), types) for tree in takes]
    returns = _tree.unflatten(out_treedef, [Place(i) for i in range(len(closed.outvars))])
    result = _plain_tree(returns, f, "returns")
    text, arrays = module_text(closed, name, list(zip(parameters, expected, strict=True)), result)
    beside = target.with_suffix(".npz")
    if arrays:
        np.savez(beside, **arrays)  # type: ignore[arg-type]
    target.write_text(text, encoding="utf-8")
    return target


def _leaf(aval: Aval, f: Any) -> Leaf:
    if not isinstance(aval.dtype, np.dtype) or aval.dtype.kind not in "biufcV":
        raise ExportError(
            f"export of {function_text(f)}: it takes an argument of dtype {aval.dtype}, which NumPy cannot hold; "
            "convert it inside"
        )
    kind = dtypes.python_type(aval.dtype) if aval.weak else None
    return Leaf(aval.shape, aval.dtype.name, kind)


def _plain_tree(tree: Any, f: Any, does: str) -> Any:
    """A tree of dicts, lists, tuples and None, with others written as one of these or refused."""
    if tree is None or isinstance(tree, Place):
        return tree
    if isinstance(tree, dict):
        for key in tree:
            if type(key) not in (str, int, bool):
                raise ExportError(
                    f"export of {function_text(f)}: it {does} a dict with the key {key!r}; keys are strings or "
                    "integers in a module"
                )
        return {key: _plain_tree(item, f, does) for key, item in tree.items()}
    if type(tree) is list:
        return [_plain_tree(item, f, does) for item in tree]
    if isinstance(tree, tuple):
        return tuple([_plain_tree(item, f, does) for item in tree])
    raise ExportError(
        f"export of {function_text(f)}: it {does} a {type(tree).__name__}, which the module could not make; pass "
        "arrays in dicts, lists and tuples (of a random key its words, fgrad.random.key_data(key))"
    )


def _with_types(tree: Any, types: list[Leaf]) -> Any:
    """A plain tree with the type of each leaf in its place, dicts in the order of their leaves."""
    if isinstance(tree, Place):
        return types[tree.position]
    if isinstance(tree, dict):
        items = sorted(tree.items(), key=lambda item: _first_position(item[1]))
        return {key: _with_types(item, types) for key, item in items}
    if isinstance(tree, list | tuple):
        return type(tree)([_with_types(item, types) for item in tree])
    return tree


def _first_position(tree: Any) -> int:
    if isinstance(tree, Place):
        return tree.position
    below = tree.values() if isinstance(tree, dict) else tree or ()
    # What holds no leaf may come anywhere.
    return min(map(_first_position, below), default=-1)
