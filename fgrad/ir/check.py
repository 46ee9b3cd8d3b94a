"""The type checker of jaxprs."""

from __future__ import annotations

from typing import Any

from fgrad.avals import aval_of
from fgrad.config import config
from fgrad.errors import JaxprTypeError
from fgrad.ir.jaxpr import Jaxpr, Literal, Var, sub_jaxprs
from fgrad.ir.pretty import eqn_window


def check_jaxpr(jaxpr: Jaxpr) -> None:
    """Check scoping, single assignment and the type of every equation.

    Raises
    ------
    JaxprTypeError
        Naming the rule that is broken, with the equation and its neighbours.
    """
    bound: set[Var] = set()

    def bind(var: Any, where: str) -> None:
        if type(var) is not Var:
            raise JaxprTypeError(f"{where} binds {var!r}, which is not a variable")
        if var in bound:
            raise JaxprTypeError(f"{where} binds a variable a second time")
        bound.add(var)

    if len(jaxpr.constvars) != len(jaxpr.consts):
        raise JaxprTypeError(
            f"{len(jaxpr.constvars)} constant variables for {len(jaxpr.consts)} constants"
        )
    for var, value in zip(jaxpr.constvars, jaxpr.consts, strict=True):
        bind(var, "the list of constants")
        if aval_of(value) != var.aval:
            raise JaxprTypeError(f"a constant of type {aval_of(value)} is declared as {var.aval}")
    for var in jaxpr.invars:
        bind(var, "the list of inputs")
    for index, eqn in enumerate(jaxpr.eqns):
        try:
            for atom in eqn.inputs:
                _check_atom(atom, bound)
            for sub in sub_jaxprs(eqn.primitive):
                check_jaxpr(sub)
            answer = eqn.primitive.abstract_eval(*(atom.aval for atom in eqn.inputs))
            expected = answer if eqn.primitive.multiple_results else (answer,)
            if len(expected) != len(eqn.outputs):
                raise JaxprTypeError(f"{len(eqn.outputs)} outputs bound, {len(expected)} made")
            for aval, var in zip(expected, eqn.outputs, strict=True):
                bind(var, "an equation")
                if aval != var.aval:
                    raise JaxprTypeError(f"an output of type {aval} is declared as {var.aval}")
        except JaxprTypeError as error:
            window = eqn_window(jaxpr, index)
            raise JaxprTypeError(f"{error}; in {eqn.primitive.name}:\n{window}") from None
    for atom in jaxpr.outvars:
        _check_atom(atom, bound)


def _check_atom(atom: Any, bound: set[Var]) -> None:
    if type(atom) is Literal:
        if aval_of(atom.value) != atom.aval:
            raise JaxprTypeError(
                f"literal {atom.value!r} of type {aval_of(atom.value)} is declared as {atom.aval}"
            )
        if atom.aval.shape:
            raise JaxprTypeError("a literal is a scalar")
    elif type(atom) is not Var or atom not in bound:
        raise JaxprTypeError("a variable is read that is not in scope")


def checked(jaxpr: Jaxpr) -> Jaxpr:
    """`jaxpr`, type-checked where the configuration asks for it."""
    if config.check_jaxprs:
        check_jaxpr(jaxpr)
    return jaxpr


def check_result(primitive: Any, declared: Any, values: Any) -> None:
    """Check that values computed by a primitive have the types that its abstract rule declared."""
    several = primitive.multiple_results
    pairs = zip(declared, values, strict=True) if several else [(declared, values)]
    for aval, value in pairs:
        if aval_of(value) != aval:
            raise JaxprTypeError(f"{primitive.name} made {aval_of(value)} where {aval} is declared")
