"""Classes whose instances are the values of their fields, as frozen dataclasses are.

`dataclasses` compiles six functions for each frozen class, which is a third of the time that importing
a hundred primitives takes. Here all classes share the same functions.
"""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar, dataclass_transform

Class = TypeVar("Class", bound=type)


@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
def parameters(cls: Class) -> Class:
    """Make a class a frozen dataclass: ``dataclasses.fields`` and ``replace`` work on it."""
    # Without a docstring, `dataclasses` would write the signature there, for which it loads a parser.
    cls.__doc__ = cls.__doc__ or cls.__name__
    dataclasses.dataclass(init=False, repr=False, eq=False)(cls)
    fields = dataclasses.fields(cls)
    all_names = [field.name for field in fields]
    names = tuple([field.name for field in fields if field.init])
    defaults = {
        field.name: field.default for field in fields if field.default is not dataclasses.MISSING
    }
    has_post_init = hasattr(cls, "__post_init__")

    def __init__(self: Any, *args: Any, **keywords: Any) -> None:
        values = self.__dict__
        if keywords or len(args) != len(names):
            given = dict(zip(names, args, strict=False)) | keywords
            unknown = given.keys() - set(names)
            missing = [name for name in names if name not in given and name not in defaults]
            if unknown or missing or len(args) > len(names):
                raise TypeError(f"{cls.__name__} takes {', '.join(names) or 'no parameters'}")
            values.update({name: defaults[name] for name in names if name not in given}, **given)
            args = tuple([values[name] for name in names])
        else:
            values.update(zip(names, args))  # noqa: B905 - their numbers are equal
        if has_post_init:
            self.__post_init__()
            args = tuple([values[name] for name in all_names])
        values["_key"] = args

    cls.__init__ = __init__  # type: ignore[misc]
    for function in (__eq__, __hash__, __repr__, __setattr__):
        if function.__name__ not in vars(cls) or vars(cls)[function.__name__] is None:
            setattr(cls, function.__name__, function)
    return cls


def __eq__(self: Any, other: object) -> Any:
    if type(self) is not type(other):
        return NotImplemented
    return self is other or self._key == other._key  # type: ignore[attr-defined]


def __hash__(self: Any) -> int:
    return hash((type(self), self._key))


def __repr__(self: Any) -> str:
    pairs = [f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self)]
    return f"{type(self).__qualname__}({', '.join(pairs)})"


def __setattr__(self: Any, name: str, value: Any) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
