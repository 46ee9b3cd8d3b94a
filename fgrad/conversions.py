"""Traced values that meet plain Python: branches, numbers, NumPy arrays, text.

Values are known under grad, vjp and jvp: they may be branched on and printed. What would cut a derivative
without a word is refused.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, NoReturn

import numpy as np

from fgrad.errors import (
    DerivativeCutError,
    IndexTypeError,
    ShapeError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
    UnsupportedArrayError,
)
from fgrad.numpy.replacements import use_of_traced_value
from fgrad.source_info import here
from fgrad.tracing import (
    ONE_ANSWER,
    RecordedTracer,
    Tracer,
    concrete,
    describe_unknown,
    described,
    in_words,
    make_known,
    refuse,
)

_BUILD = (
    "use fgrad.numpy.array or fgrad.numpy.stack to make an array of traced values, x.at[i].set(v) in the "
    "place of x[i] = v, fgrad.numpy.asarray(a)[i] to index a NumPy array a, and functions of fgrad.numpy in "
    "the place of those that take plain arrays"
)


def _differentiated(tracer: Any) -> Tracer | None:
    """The level of a known value that a derivative is taken of, if there is one."""
    while isinstance(tracer, Tracer):
        if not isinstance(tracer, RecordedTracer):
            return tracer
        tracer = tracer._known()
    return None


def converted(
    tracer: Tracer, conversion: str, advice: str = "use functions of fgrad.numpy on it"
) -> Any:
    """The NumPy value of a tracer, for a conversion that would cut a derivative of it.

    Raises
    ------
    TracerArrayConversionError
        If the value is unknown.
    DerivativeCutError
        If a derivative is taken of it.
    """
    known = concrete(tracer)
    if known is None:
        raise refuse(
            tracer,
            TracerArrayConversionError(
                f"{conversion} needs the value of {describe_unknown(tracer)}, which is unknown while tracing "
                f"({here()}); {advice}, or {make_known(tracer)}"
            ),
        )
    level = _differentiated(tracer)
    if level is not None:
        raise refuse(
            tracer,
            DerivativeCutError(
                f"{conversion} would silently cut the derivative of a {in_words(tracer.aval)}, in "
                f"{level._trace.title}, at {here()}; {advice}, or convert fgrad.lax.stop_gradient(x) where no "
                "derivative is wanted"
            ),
        )
    return known


def _read(tracer: Tracer, conversion: str, advice: str) -> Any:
    """The value for a conversion that the user did not write down: a refusal tells what did ask for it."""
    if concrete(tracer) is None or _differentiated(tracer) is not None:
        conversion, advice = use_of_traced_value() or (conversion, advice)
    return converted(tracer, conversion, advice)


def _one_element(tracer: Tracer, conversion: str) -> None:
    if tracer.size != 1:
        raise ShapeError(
            f"{conversion} of an array of shape {tracer.shape}, which has {tracer.size} elements, not one ({here()})"
        )


# ---- numbers -----------------------------------------------------------------------------------


def to_bool(tracer: Tracer) -> bool:
    """``bool(x)``: what ``if x:`` asks for."""
    if tracer.size != 1:
        raise ShapeError(
            f"the truth value of a {described(tracer)}, is ambiguous, since it has {tracer.size} elements "
            f"({here()}); {ONE_ANSWER}"
        )
    known = concrete(tracer)
    if known is None:
        raise TracerBoolConversionError(
            f"a branch needs the truth value of {describe_unknown(tracer)}, which is unknown while tracing "
            f"({here()}); use fgrad.numpy.where or fgrad.lax.cond to choose by it, fgrad.lax.while_loop to loop "
            f"while it holds, or {make_known(tracer)}"
        )
    return bool(known)


def to_index(tracer: Tracer) -> int:
    """``operator.index(x)``: what ``range(x)``, ``sequence[x]`` and sizes ask for."""
    if tracer.dtype.kind not in "iub" or tracer.shape:
        raise refuse(
            tracer,
            IndexTypeError(
                f"a {in_words(tracer.aval)} was used where an integer is needed, such as a size or an index, "
                f"in {tracer._trace.title}, at {here()}; to make an array of it, use fgrad.numpy.array, "
                "fgrad.numpy.stack or fgrad.numpy.full"
            ),
        )
    known = concrete(tracer)
    if known is None:
        raise refuse(
            tracer,
            TracerIntegerConversionError(
                f"an integer is needed here, but got {describe_unknown(tracer)}, which is unknown while "
                f"tracing ({here()}); {make_known(tracer)}; to loop so many times, use fgrad.lax.fori_loop; to "
                "index a NumPy array a with it, write fgrad.numpy.asarray(a)[i]; to put it into an array, use "
                "fgrad.numpy.array, fgrad.numpy.stack or x.at[...]"
            ),
        )
    return int(known)


def to_int(tracer: Tracer) -> int:
    """``int(x)``: it has derivative zero wherever it has one, so that nothing is cut."""
    _one_element(tracer, "int(x)")
    known = concrete(tracer)
    if known is None:
        whole = tracer.dtype.kind in "iub"
        compute = "leave int() out, since x holds an integer" if whole else "use x.astype(int)"
        raise TracerIntegerConversionError(
            f"int(x) needs the value of {describe_unknown(tracer)}, which is unknown while tracing ({here()}); "
            f"to compute with it, {compute}; to use it as a size or as a number of steps, {make_known(tracer)}"
        )
    return int(known)


def number(kind: type) -> Callable[[Tracer], Any]:
    """``float(x)`` or ``complex(x)``."""
    name = f"{kind.__name__}(x), which functions of math, NumPy arrays and the operator % call too,"

    def convert(tracer: Tracer) -> Any:
        _one_element(tracer, f"{kind.__name__}(x)")
        return kind(_read(tracer, name, f"to print a value, use an f-string; {_BUILD}"))

    return convert


def as_integer_ratio(tracer: Tracer) -> tuple[int, int]:
    """``x.as_integer_ratio()``."""
    _one_element(tracer, "x.as_integer_ratio()")
    known = converted(
        tracer,
        "x.as_integer_ratio(), which the modules statistics and fractions call,",
        "use fgrad.numpy.mean, median, var or std",
    )
    return float(known).as_integer_ratio()


def item(tracer: Tracer, *index: Any) -> Any:
    """``x.item()``."""
    if index:
        place = index[0] if len(index) == 1 else index
        flat = isinstance(place, (int, np.integer))
        return (tracer.reshape(-1) if flat else tracer)[place].item()  # type: ignore[attr-defined, index]
    _one_element(tracer, "x.item()")
    return np.asarray(converted(tracer, "x.item()")).item()


def tolist(tracer: Tracer) -> Any:
    """``x.tolist()``."""
    return np.asarray(converted(tracer, "x.tolist()")).tolist()


def tobytes(tracer: Tracer, order: Any = "C") -> bytes:
    """``x.tobytes()``."""
    return np.asarray(converted(tracer, "x.tobytes()")).tobytes(order)


def to_array(tracer: Tracer, dtype: Any = None, copy: Any = None) -> Any:
    """``np.asarray(x)``, and what NumPy does with lists of traced values and with ``a[i] = x``."""
    try:
        known = _read(tracer, "the conversion to a NumPy array", _BUILD)
    except (DerivativeCutError, TracerArrayConversionError):
        advice = _advice_about_operand()
        if advice is None:
            raise
        message = f"{advice} a {in_words(tracer.aval)}, in {tracer._trace.title}, at {here()}"
        raise refuse(tracer, UnsupportedArrayError(message)) from None
    return np.array(known, dtype) if copy else np.asarray(known, dtype)


def to_file(tracer: Tracer, *args: Any, **kwargs: Any) -> None:
    """``x.tofile(file)``."""
    np.asarray(converted(tracer, "x.tofile()")).tofile(*args, **kwargs)


def dumped(tracer: Tracer, *args: Any) -> Any:
    """``x.dumps()`` and ``x.dump(file)``, which pickle."""
    inside = np.asarray(converted(tracer, "a pickle of x"))
    return inside.dump(*args) if args else inside.dumps()


def to_dlpack(tracer: Tracer, **kwargs: Any) -> Any:
    """What another library asks for to take an array over."""
    return np.asarray(converted(tracer, "the export by DLPack", _BUILD)).__dlpack__(**kwargs)


#: Modules whose own operators take a traced value on their right for an array, and what to do then.
_OPERANDS = {
    "numpy.ma": (
        "a masked array cannot be combined with a traced value, since its mask would be lost; use "
        ".filled(value), or pass data and mask apart and combine them with fnp.where. It met"
    ),
    "scipy.sparse": (
        "a sparse array cannot be combined with a traced value; use .toarray(), or keep it outside of the "
        "trace. It met"
    ),
}


def _advice_about_operand() -> str | None:
    """What to do about the object whose operator asked for a conversion, if it is a known one."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        for name, advice in _OPERANDS.items():
            if module.startswith(name):
                return advice
        if not module.startswith(("fgrad.", "numpy.", "scipy.")):
            return None
        frame = frame.f_back
    return None


def refuse_pickling(tracer: Tracer, protocol: Any = None) -> NoReturn:
    """``pickle.dumps(x)``."""
    raise TracerArrayConversionError(
        f"a {in_words(tracer.aval)} cannot be pickled ({here()}); return it from the function, and pickle the "
        "result"
    )


# ---- text ----------------------------------------------------------------------------------------


def text(tracer: Tracer) -> str:
    """``str(x)``: the type, and the value where it is known."""
    name = f"{tracer._trace.transform} of {tracer._trace.name}"
    known = concrete(tracer) if tracer._trace.alive else None
    if known is None:
        return f"Traced<{tracer.aval}> in {name}"
    return f"Traced<{tracer.aval}>({np.array2string(np.asarray(known), separator=', ')}) in {name}"


def formatted(tracer: Tracer, spec: str) -> str:
    """``format(x, spec)``: a known number is formatted as one."""
    known = concrete(tracer)
    if known is None or not spec:
        return text(tracer)
    return format(known if not isinstance(known, np.ndarray) else known[()], spec)
