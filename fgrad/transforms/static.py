"""Static arguments: values that a trace is specialised to."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from fgrad import _tree
from fgrad.errors import ArgnumsError, StaticArgumentError
from fgrad.source_info import function_text
from fgrad.tracing import Tracer, described
from fgrad.transforms._arguments import signature_names


class Static:
    """The static arguments of one call, and where they go."""

    __slots__ = ("count", "named", "positions")

    def __init__(self, positions: dict[int, Any], named: dict[str, Any], count: int) -> None:
        self.positions = positions
        self.named = named
        self.count = count

    def join(self, dynamic: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of the user's function again."""
        args, kwargs = dynamic
        if not self.positions:
            return args, {**kwargs, **self.named} if self.named else kwargs
        rest = iter(args)
        joined = tuple(
            self.positions[i] if i in self.positions else next(rest) for i in range(self.count)
        )
        return joined, {**kwargs, **self.named}

    def key(self, f: Callable[..., Any], transform: str) -> Any:
        """What the cache knows them by: values with their types, so that 1, True and 1.0 differ."""
        if not self.positions and not self.named:
            return ()
        items = [*self.positions.items(), *sorted(self.named.items())]
        for place, given in items:
            try:
                hash(given)
            except TypeError:
                name = signature_names(f, place + 1)[place] if isinstance(place, int) else place
                raise StaticArgumentError(
                    f"{transform} of {function_text(f)}: static argument {name} is {_unhashable(given)}"
                ) from None
        return tuple((place, _tree.static_key(given), given) for place, given in items)


def _unhashable(given: Any) -> str:
    """What a value is that cannot be static, and what to do."""
    if isinstance(given, Tracer):
        return (
            f"a {described(given)}; its value is not fixed, as that of a static argument must be: leave it out of "
            "static_argnums and static_argnames, or pass a Python number"
        )
    if isinstance(given, np.ndarray):
        return (
            f"an array of shape {given.shape}, and arrays are compared by their elements; leave it out of "
            "static_argnums and static_argnames, so that it is traced, or close over it"
        )
    for kind, remedy in _HASHABLE.items():
        if isinstance(given, kind):
            return f"the {kind.__name__} {_short(given)}, which cannot be hashed; pass {remedy}"
    return (
        f"{_short(given)} of type {type(given).__name__}, which cannot be hashed; define __hash__ and __eq__ of "
        "its class, or make it a traced argument"
    )


_HASHABLE: dict[type, str] = {
    list: "a tuple, or make it a traced argument",
    dict: "tuple(d.items()), or make it a traced argument",
    set: "a frozenset",
}


def _short(x: Any) -> str:
    text = repr(x)
    return text if len(text) <= 40 else text[:37] + "..."


def as_tuple(x: Any) -> tuple[Any, ...]:
    if x is None:
        return ()
    return tuple(x) if isinstance(x, Iterable) and not isinstance(x, str) else (x,)


def infer_static(
    f: Callable[..., Any], argnums: Any, argnames: Any, transform: str
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Numbers and names of static arguments, each completed from the other by the signature."""
    numbers, names = as_tuple(argnums), as_tuple(argnames)
    for option, given, kind in (
        (f"static_argnums={argnums!r}", numbers, int),
        (f"static_argnames={argnames!r}", names, str),
    ):
        if not all(isinstance(x, kind) for x in given):
            words = "a position or a tuple of them" if kind is int else "a name or a tuple of them"
            raise ArgnumsError(f"{transform} of {function_text(f)}: {option}; give {words}")
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        return numbers, names
    positional = [
        p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    open_ended = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters)
    for number in numbers:
        if not open_ended and not -len(positional) <= number < len(positional):
            raise ArgnumsError(
                f"{transform} of {function_text(f)}: static_argnums={argnums!r} asks for argument {number}, "
                f"but the function has {len(positional)} positional parameters"
            )
    known = {p.name for p in parameters}
    for name in names:
        if name not in known and not takes_any:
            raise ArgnumsError(
                f"{transform} of {function_text(f)}: static_argnames={argnames!r} names {name!r}, which is not "
                f"a parameter; the parameters are {', '.join(sorted(known))}"
            )
    if argnames is None or argnames == ():
        names = tuple(positional[n] for n in numbers if -len(positional) <= n < len(positional))
    elif argnums is None or argnums == ():
        numbers = tuple(positional.index(n) for n in names if n in positional)
    return numbers, names


def split_static(
    f: Callable[..., Any],
    transform: str,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    numbers: Any,
    names: Any,
) -> tuple[tuple[tuple[Any, ...], dict[str, Any]], Static]:
    """Separate the static arguments of a call from the traced ones."""
    count = len(args)
    wanted = {n % count for n in as_tuple(numbers) if -count <= n < count}
    if not wanted and not names:
        return (tuple(args), kwargs), Static({}, {}, count)
    positions = {i: args[i] for i in sorted(wanted)}
    dynamic = tuple(a for i, a in enumerate(args) if i not in wanted)
    named = {k: v for k, v in kwargs.items() if k in names}
    rest = {k: v for k, v in kwargs.items() if k not in named}
    return (dynamic, rest), Static(positions, named, count)
