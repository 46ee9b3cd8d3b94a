"""Primitives on the types of ml_dtypes: floats are computed in float32 and rounded once, integers in 16 bits.

NumPy knows neither the kind of these types nor what they promote to. When the first of them comes
into use, the rules of every primitive learn to take them; until then, they cost nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from fgrad import dtypes
from fgrad.avals import Aval, aval_of
from fgrad.primitives.elementwise import Select
from fgrad.primitives.families import Elementwise, _Declared
from fgrad.primitives.indexing import Gather
from fgrad.tracing import Primitive

Rule = Callable[..., Any]


def _has_own_dtype(primitive: Primitive) -> bool:
    """Whether a parameter says which dtype the answer has, so that NumPy converts as asked."""
    return "dtype" in getattr(type(primitive), "__dataclass_fields__", ())


def _answer(aval: Aval, operands: Sequence[Aval], plain: set[np.dtype[Any]]) -> Aval:
    """The type of an answer whose narrow operands were taken for wide ones; `plain` are the other dtypes."""
    dtype = dtypes.promotion_of_narrow(operands, aval.dtype) if operands else aval.dtype
    if aval.dtype.kind != "f":
        integers = {a.dtype for a in operands} & dtypes.NARROW_INTEGERS
        taken = {dtypes.widened(d): d for d in integers}
        # Counts, places and sums of integers have dtypes of their own.
        return aval if aval.dtype in plain else Aval(aval.shape, taken.get(aval.dtype, aval.dtype))
    if dtype in dtypes.NARROW_INTEGERS:
        # What roots and quotients of integers of any width are in JAX.
        return Aval(aval.shape, dtypes.FLOAT32)
    return Aval(aval.shape, dtype)


def _without_indices(avals: Sequence[Aval]) -> Sequence[Aval]:
    promoting = [a for a in avals if a.dtype.kind not in "biu"]
    floats = [a for a in promoting if a.dtype not in dtypes.NARROW_INTEGERS]
    return floats or promoting


def _typing(original: Rule) -> Rule:
    @functools.wraps(original)
    def abstract_eval(self: Primitive, *avals: Aval) -> Any:
        if not any([a.dtype in dtypes.NARROW for a in avals]) or _has_own_dtype(self):
            return original(self, *avals)
        wide = [
            Aval(a.shape, dtypes.widened(a.dtype)) if a.dtype in dtypes.NARROW else a for a in avals
        ]
        plain = {a.dtype for a in avals if not a.weak}
        # Indices and masks take no part in promotion.
        if isinstance(self, Elementwise):
            operands: Sequence[Aval] = avals
        elif isinstance(self, Select):
            operands = avals[:2]
        else:
            operands = _without_indices(avals)
        answer = original(self, *wide)
        if self.multiple_results:
            return [_answer(aval, operands, plain) for aval in answer]
        return _answer(answer, operands, plain)

    return abstract_eval


def _widened(x: Any) -> Any:
    dtype = getattr(x, "dtype", None)
    return x.astype(dtypes.widened(dtype)) if dtype in dtypes.NARROW else x


def _rounded(x: Any, aval: Aval) -> Any:
    if aval.weak or aval_of(x).dtype == aval.dtype:
        return x
    rounded = x.astype(aval.dtype)
    return rounded if aval.shape or not isinstance(rounded, np.ndarray) else rounded[()]


def _computing(original: Rule) -> Rule:
    @functools.wraps(original)
    def impl(self: Primitive, *values: Any) -> Any:
        for x in values:
            if getattr(x, "dtype", None) in dtypes.NARROW:
                break
        else:
            return original(self, *values)
        if _has_own_dtype(self):
            return original(self, *values)
        declared = self.abstract_eval(*map(aval_of, values))
        adapted = self.of_dtype(declared.dtype) if isinstance(self, Gather) else self
        answer = original(adapted, *map(_widened, values))
        if self.multiple_results:
            return [_rounded(x, aval) for x, aval in zip(answer, declared, strict=True)]
        return _rounded(answer, declared)

    return impl


def _lowering(original: Rule) -> Rule:
    @functools.wraps(original)
    def lower(self: Primitive, emit: Any, *names: str) -> str:
        narrow = getattr(self, "dtype", None) in dtypes.NARROW
        if narrow or any([a.dtype in dtypes.NARROW for a in emit.operands]):
            return Primitive.lower(self, emit, *names)
        return original(self, emit, *names)  # type: ignore[no-any-return]

    return lower


_LEARNING = {"abstract_eval": _typing, "impl": _computing, "lower": _lowering}


def _classes(cls: type) -> Iterator[type]:
    yield cls
    subclasses: list[type] = cls.__subclasses__()
    for below in subclasses:
        yield from _classes(below)


def _teach(cls: type) -> None:
    for name, learned in _LEARNING.items():
        rule = vars(cls).get(name)
        if rule is not None:
            setattr(cls, name, learned(rule))


def _learn() -> None:
    """Teach the rules of all primitives to take narrow types, those of later ones too."""
    for cls in set(_classes(_Declared)):
        _teach(cls)
    declare = vars(_Declared)["__init_subclass__"].__func__

    def __init_subclass__(cls: type, **keywords: Any) -> None:
        declare(cls, **keywords)
        _teach(cls)

    learning: Any = classmethod(__init_subclass__)  # type: ignore[arg-type]
    _Declared.__init_subclass__ = learning  # type: ignore[method-assign]


dtypes.when_narrow(_learn)
