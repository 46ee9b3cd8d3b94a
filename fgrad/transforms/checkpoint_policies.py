"""Which intermediate results of a checkpointed function are kept for its backward pass.

A policy is a function of an operation, the types of its operands and its parameters by name. Pass one as
``checkpoint(f, policy=...)``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fgrad import _tree
from fgrad.array import value, wrap
from fgrad.errors import ArgumentError
from fgrad.primitives.contraction import DotGeneral
from fgrad.primitives.convolution import Convolve
from fgrad.primitives.naming import NameResult

Policy = Callable[..., bool]


def everything_saveable(primitive: Any, *avals: Any, **params: Any) -> bool:
    """Keep all results that the backward pass reads: nothing is computed again."""
    return True


def nothing_saveable(primitive: Any, *avals: Any, **params: Any) -> bool:
    """Keep the arguments alone, as without a policy."""
    return False


def dots_saveable(primitive: Any, *avals: Any, **params: Any) -> bool:
    """Keep the results of matrix products and convolutions."""
    return isinstance(primitive, (DotGeneral, Convolve))


checkpoint_dots = dots_saveable


def dots_with_no_batch_dims_saveable(primitive: Any, *avals: Any, **params: Any) -> bool:
    """Keep the results of matrix products that are not batched, such as those with weights."""
    return isinstance(primitive, DotGeneral) and not primitive.left_batch


checkpoint_dots_with_no_batch_dims = dots_with_no_batch_dims_saveable


def offload_dot_with_no_batch_dims(offload_src: str, offload_dst: str) -> Policy:
    """Keep the results of matrix products that are not batched.

    Parameters
    ----------
    offload_src, offload_dst : str
        Accepted for compatibility: there is one memory only.

    Returns
    -------
    callable
    """
    return dots_with_no_batch_dims_saveable


def save_only_these_names(*names_which_can_be_saved: str) -> Policy:
    """Keep the results that `checkpoint_name` gave one of these names.

    Parameters
    ----------
    *names_which_can_be_saved : str

    Returns
    -------
    callable

    Examples
    --------
    >>> import fgrad, fgrad.numpy as fnp
    >>> def f(x):
    ...     y = fgrad.ad_checkpoint.checkpoint_name(fnp.sin(x), "wave")
    ...     return fnp.sin(y)
    >>> policy = fgrad.checkpoint_policies.save_only_these_names("wave")
    >>> float(fgrad.grad(fgrad.checkpoint(f, policy=policy))(0.0))
    1.0
    """
    names = _names("save_only_these_names", names_which_can_be_saved)

    def save_only_these_names(primitive: Any, *avals: Any, **params: Any) -> bool:
        return isinstance(primitive, NameResult) and primitive.label in names

    return save_only_these_names


def save_any_names_but_these(*names_not_to_save: str) -> Policy:
    """Keep the results that `checkpoint_name` gave any other name; what has no name is not kept.

    Parameters
    ----------
    *names_not_to_save : str

    Returns
    -------
    callable
    """
    names = _names("save_any_names_but_these", names_not_to_save)

    def save_any_names_but_these(primitive: Any, *avals: Any, **params: Any) -> bool:
        return isinstance(primitive, NameResult) and primitive.label not in names

    return save_any_names_but_these


def save_anything_except_these_names(*names_not_to_save: str) -> Policy:
    """Keep all results but those that `checkpoint_name` gave one of these names.

    Parameters
    ----------
    *names_not_to_save : str

    Returns
    -------
    callable
    """
    names = _names("save_anything_except_these_names", names_not_to_save)

    def save_anything_except_these_names(primitive: Any, *avals: Any, **params: Any) -> bool:
        return not (isinstance(primitive, NameResult) and primitive.label in names)

    return save_anything_except_these_names


def save_and_offload_only_these_names(
    *,
    names_which_can_be_saved: Any,
    names_which_can_be_offloaded: Any,
    offload_src: str,
    offload_dst: str,
) -> Policy:
    """Keep the results that `checkpoint_name` gave one of these names.

    Parameters
    ----------
    names_which_can_be_saved, names_which_can_be_offloaded : sequence of str
        Both are kept.
    offload_src, offload_dst : str
        Accepted for compatibility: there is one memory only.

    Returns
    -------
    callable
    """
    return save_only_these_names(*names_which_can_be_saved, *names_which_can_be_offloaded)


def save_from_both_policies(policy_1: Policy, policy_2: Policy) -> Policy:
    """Keep what either policy keeps.

    Parameters
    ----------
    policy_1, policy_2 : callable

    Returns
    -------
    callable
    """

    def save_from_both_policies(primitive: Any, *avals: Any, **params: Any) -> bool:
        return bool(policy_1(primitive, *avals, **params) or policy_2(primitive, *avals, **params))

    return save_from_both_policies


def _names(policy: str, names: Any) -> frozenset[str]:
    for name in names:
        if not isinstance(name, str):
            raise ArgumentError(
                f"{policy}: {name!r} is not a name; give strings, such as checkpoint_name got"
            )
    return frozenset(names)


def checkpoint_name(x: Any, name: str) -> Any:
    """Give an intermediate result a name, by which policies of `checkpoint` choose it.

    Parameters
    ----------
    x : array or tree of arrays
    name : str

    Returns
    -------
    tree
        The same values.

    Raises
    ------
    ArgumentError
        If `name` is not a string.

    Examples
    --------
    >>> import fgrad, fgrad.numpy as fnp
    >>> float(fgrad.ad_checkpoint.checkpoint_name(fnp.float64(2.0), "two"))
    2.0
    """
    if not isinstance(name, str):
        raise ArgumentError(f"checkpoint_name: name is {name!r}; give a string")
    return _tree.map(lambda leaf: wrap(NameResult(name)(value(leaf))), x)
