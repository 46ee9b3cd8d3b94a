"""What all transforms share: argnums, trees of arguments, auxiliary outputs, the user's names."""

from __future__ import annotations

import functools
import inspect
import operator
import sys
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, TypeVar, cast

from fgrad import _tree
from fgrad.array import value
from fgrad.avals import Aval, aval_of
from fgrad.dtypes import float0, is_inexact
from fgrad.errors import ArgnumsError, ArgumentError, FgradError, NonArrayError, TangentError
from fgrad.primitives.families import match_aval
from fgrad.source_info import boundary, function_name, function_text, here
from fgrad.tracing import kind_in_words

F = TypeVar("F", bound=Callable[..., Any])


class Made:
    """How a function was made from another one: what is pickled in its place."""

    def __init__(
        self, result: Any, make: Callable[..., Any], f: Any, options: dict[str, Any]
    ) -> None:
        # The number of an object that lives as long as this one: a reference to it would be a cycle.
        self.result = id(result)
        self.make, self.f, self.options = make, f, options

    def __reduce__(self) -> Any:
        return made, (self.make, picklable(self.f), self.options)


def made(make: Callable[..., Any], f: Any, options: dict[str, Any]) -> Any:
    """Make the function again."""
    return make(f, **options)


class _Partial:
    """A partial application as it is pickled."""

    def __init__(self, f: Any) -> None:
        self.f = f

    def __reduce__(self) -> Any:
        return _partial, (picklable(self.f.func), self.f.args, self.f.keywords)


def _partial(f: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    return functools.partial(f, *args, **keywords)


def _found_by_name(f: Any) -> bool:
    """Whether a function is what its module has under its name, as a decorated one is."""
    found: Any = sys.modules.get(getattr(f, "__module__", None) or "")
    for part in getattr(f, "__qualname__", "").split("."):
        found = getattr(found, part, None)
    return found is f


def picklable(f: Any) -> Any:
    """A function as it is pickled: one that a transform made, by what it was made from."""
    if type(f) is functools.partial:
        return _Partial(f)
    if _found_by_name(f):
        return f
    how = getattr(f, "_made", None)
    # Wrappers of the user's own take over what their function says of itself.
    return how if isinstance(how, Made) and how.result == id(f) else f


def transformed(
    f: Callable[..., Any], transform: str, make: Callable[..., Any], **options: Any
) -> Callable[[F], F]:
    """Make a wrapper look like the user's function, named after transform and function.

    ``make(f, **options)`` gives the same function once more.
    """

    def decorate(wrapper: F) -> F:
        if isinstance(getattr(f, "__name__", None), str):
            result = functools.wraps(f)(boundary(wrapper))
        else:
            # An object that can be called, whose attributes may be anything.
            result = functools.wraps(f, ("__doc__",), ())(boundary(wrapper))
        result.__name__ = f"{transform}({function_name(f)})"
        result._made = Made(result, make, f, options)  # type: ignore[attr-defined]
        return cast(F, result)

    return decorate


def check_callable(f: Any, transform: str) -> None:
    if not callable(f):
        raise ArgumentError(f"{transform} takes a function, got {f!r} of type {type(f).__name__}")


def signature_names(f: Callable[..., Any], count: int) -> list[str]:
    """The names of the first `count` positional parameters of `f`."""
    code = getattr(f, "__code__", None)
    if code is not None and count <= code.co_argcount and not hasattr(f, "__wrapped__"):
        if type(f) is FunctionType and not hasattr(f, "__signature__"):
            # The common case, at a tenth of the cost of a signature.
            return list(code.co_varnames[:count])
    names: list[str] = []
    try:
        for parameter in inspect.signature(f).parameters.values():
            if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
                names.append(parameter.name)
            elif parameter.kind is parameter.VAR_POSITIONAL:
                names.extend(f"{parameter.name}[{i}]" for i in range(count - len(names)))
    except (TypeError, ValueError):
        pass
    names = names[:count]
    return names + [f"argument {i}" for i in range(len(names), count)]


def check_arity(f: Callable[..., Any], who: str, wanted: Sequence[str]) -> None:
    """Refuse a function that cannot be called with as many arguments as `wanted` names.

    Raises
    ------
    ArgumentError
        The message starts with `who`.
    """
    try:
        signature = inspect.signature(f)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*wanted)
    except TypeError:
        count = len(wanted)
        words = f"{count} argument{'s' * (count != 1)}"
        listed = " and ".join([", ".join(wanted[:-1]), *wanted[-1:]] if count > 1 else wanted)
        given = f"{words}, {listed}" if count else "no argument"
        raise ArgumentError(
            f"{who} gets {given}, but its signature is {function_name(f)}{signature}; give it parameters for "
            f"{'these' if count else 'none'}, and bind what else it needs by functools.partial or a closure "
            f"({here()})"
        ) from None


def call_rule(
    rule: Callable[..., Any], who: str, args: Sequence[Any], wanted: Callable[[], Sequence[str]]
) -> Any:
    """Call a rule of the user; one that takes other arguments than those that `wanted` names is refused."""
    try:
        return rule(*args)
    except TypeError as error:
        entered = error.__traceback__ is not None and error.__traceback__.tb_next is not None
        if not entered:
            check_arity(rule, f"{who} {function_text(rule)}", wanted())
        raise


def argument_leaf_names(
    f: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any] | None = None
) -> list[str]:
    """A name such as ``params['w']`` for each leaf of the arguments of a call of `f`."""
    names = []
    for name, arg in zip(signature_names(f, len(args)), args, strict=True):
        names.extend(_tree.leaf_names(arg, name))
    for name in sorted(kwargs or {}):
        names.extend(_tree.leaf_names((kwargs or {})[name], name))
    return names


def check_argnums(f: Callable[..., Any], argnums: Any, transform: str) -> None:
    """Refuse argnums that are no integers, where the function is transformed.

    Raises
    ------
    ArgnumsError
    """
    if type(argnums) is int:
        return
    for number in argnums if isinstance(argnums, (tuple, list)) else (argnums,):
        try:
            operator.index(number)
        except TypeError:
            raise ArgnumsError(
                f"{transform} of {function_text(f)}: argnums is {argnums!r}; give an integer or a tuple of them, "
                f"and the arguments of the function to what {transform} returns: {transform}(f)(x)"
            ) from None


def normal_argnums(
    f: Callable[..., Any], argnums: Any, count: int, transform: str
) -> tuple[int, ...]:
    """Non-negative positions of arguments.

    Raises
    ------
    ArgnumsError
        If a position is out of range, given twice or not an integer.
    """
    listed = (argnums,) if not isinstance(argnums, (tuple, list)) else tuple(argnums)
    result = []
    for number in listed:
        try:
            position = number.__index__()
        except AttributeError:
            raise ArgnumsError(
                f"{transform} of {function_text(f)}: argnums is {argnums!r}; give an integer or a tuple of them"
            ) from None
        if not -count <= position < count:
            raise ArgnumsError(
                f"{transform} of {function_text(f)}: argnums={argnums!r} asks for argument {position}, but the "
                f"call has {count} positional argument{'s' * (count != 1)}; count from 0, and pass it by "
                "position"
            )
        result.append(position % count)
    if len(set(result)) != len(result):
        raise ArgnumsError(
            f"{transform} of {function_text(f)}: argnums={argnums!r} names an argument twice"
        )
    return tuple(result)


def leaf_value(
    leaf: Any,
    transform: str,
    f: Callable[..., Any],
    name: Callable[[], str],
    what: str = "argument",
) -> Any:
    """A leaf of a tree of the user as an internal value, or an error that names it."""
    try:
        return value(leaf)
    except TypeError as error:
        where = f"{transform} of {function_text(f)}: {what} {name()}".replace("  ", " ")
        if _tree.is_unregistered_dataclass(leaf):
            raise NonArrayError(
                f"{where} is a dataclass {type(leaf).__name__} that is not registered as a pytree; decorate it "
                "with fgrad.tree_util.register_dataclass"
            ) from None
        if not isinstance(error, FgradError):
            raise
        if name() == "self" and transform == "jit":
            raise NonArrayError(
                f"{where} is an object of class {type(leaf).__name__}; give static_argnums=0, or register the class "
                "with fgrad.tree_util.register_pytree_node_class"
            ) from None
        remedy = _remedy(error, leaf, transform, name()) if what == "argument" else ""
        if what == "" and isinstance(leaf, (str, bytes)):
            remedy = "; return arrays and numbers alone, and keep text where the function is called"
        raise type(error)(f"{where} {str(error).removeprefix('an argument ')}{remedy}") from None


_CLOSURE = "close over it, or bind it with functools.partial"
_REMEDIES = {
    "jit": f"; name it in static_argnums, or {_CLOSURE}",
    "vmap": f"; pass it whole, with None in in_axes, or {_CLOSURE}",
    "grad": f"; leave it out of argnums, or {_CLOSURE}",
    "value_and_grad": f"; leave it out of argnums, or {_CLOSURE}",
}


def _remedy(error: Exception, leaf: Any, transform: str, name: str) -> str:
    """How a value that is no array gets into a function."""
    if getattr(getattr(leaf, "dtype", None), "kind", "") in ("U", "S", "T"):
        return f"; {_CLOSURE}"
    if type(error) is not NonArrayError:
        return ""
    # A part of an argument has a path for a name.
    return _REMEDIES.get(transform, f"; {_CLOSURE}") if name.isidentifier() else f"; {_CLOSURE}"


def leaf_values(
    leaves: Sequence[Any],
    transform: str,
    f: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Any = None,
) -> list[Any]:
    """Every leaf of the traced arguments as an internal value."""
    return [
        leaf_value(leaf, transform, f, lambda i=i: argument_leaf_names(f, args, kwargs)[i])  # type: ignore[misc]
        for i, leaf in enumerate(leaves)
    ]


def output_values(
    leaves: Sequence[Any], transform: str, f: Callable[..., Any], tree: Any
) -> list[Any]:
    """Every leaf of a function's result as an internal value."""
    return [
        leaf_value(leaf, transform, f, lambda i=i: _tree.leaf_names(tree, "the result")[i], "")  # type: ignore[misc]
        for i, leaf in enumerate(leaves)
    ]


def chosen_leaf_names(
    f: Callable[..., Any], args: Sequence[Any], numbers: Sequence[int]
) -> list[str]:
    """The names of the leaves of those arguments that `numbers` choose."""
    names = signature_names(f, len(args))
    return [name for n in numbers for name in _tree.leaf_names(args[n], names[n])]


def tree_text(treedef: Any) -> str:
    """The structure of a tree, for messages: its containers, with ``*`` for each leaf."""
    text = str(treedef).removeprefix("PyTreeSpec(").removesuffix(")")
    return text.replace(f", namespace={_tree.NAMESPACE!r}", "")


def split_aux(f: Callable[..., Any], result: Any, transform: str) -> tuple[Any, Any]:
    """The pair that a function with has_aux=True returns."""
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise ArgumentError(
            f"{transform} of {function_text(f)} with has_aux=True: expected a pair (result, auxiliary data), "
            f"got {kind_in_words(result)}"
        )
    return result[0], result[1]


def untraced(trace: Any, tree: Any) -> Any:
    """A tree of auxiliary data, with the tracers of an ended trace replaced by their values."""
    leaves, treedef = _tree.flatten(tree)
    return _tree.unflatten(treedef, [trace.untrace(leaf) for leaf in leaves])


def direction_values(
    directions: Any,
    treedef: Any,
    avals: Sequence[Aval],
    what: str,
    of: str,
    transform: str,
    f: Callable[..., Any],
    names: Callable[[], Sequence[str]],
) -> list[Any]:
    """Tangents or cotangents in the types that their primals ask for; None for those of integers.

    Raises
    ------
    TangentError
        If their structure, shapes or dtypes do not match.
    """
    leaves, given = _tree.flatten(directions)
    if given != treedef:
        raise TangentError(
            f"{transform} of {function_text(f)}: the {what}s have structure {tree_text(given)}, but the {of}s "
            f"have structure {tree_text(treedef)}; give one {what} for each {of}"
        )
    inner = []
    for i, (leaf, aval) in enumerate(zip(leaves, avals, strict=True)):
        direction = leaf_value(leaf, transform, f, lambda i=i: names()[i], f"the {what} of")  # type: ignore[misc]
        wanted = aval.dtype if is_inexact(aval.dtype) else float0
        own = aval_of(direction)
        if own.shape != aval.shape or (own.dtype != wanted and not _accepts(own, wanted)):
            where = f"{transform} of {function_text(f)}: the {what} of {names()[i]}"
            raise _mismatch(where, own, aval, of)
        inner.append(match_aval(direction, aval) if is_inexact(aval.dtype) else None)
    return inner


def _mismatch(where: str, own: Aval, aval: Aval, of: str) -> TangentError:
    if own.shape != aval.shape:
        return TangentError(
            f"{where} has shape {own.shape}, but its {of} has shape {aval.shape}; give them one shape"
        )
    advice = (
        f"convert it with .astype({aval.dtype.name!r})"
        if is_inexact(aval.dtype)
        else f"integers and booleans have tangents np.zeros({aval.shape}, fgrad.float0)"
    )
    given = "float0" if own.dtype == float0 else own.dtype.name
    return TangentError(
        f"{where} has dtype {given}, but its {of} has dtype {aval.dtype.name}; {advice}"
    )


def _accepts(own: Aval, wanted: Any) -> bool:
    """Whether a Python number is taken as a direction of a dtype."""
    kinds = "biufc" if wanted.kind == "c" else "biuf"
    return own.weak and is_inexact(wanted) and own.dtype.kind in kinds
