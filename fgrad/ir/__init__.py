"""The typed intermediate representation: data, checker, printer and passes."""

from fgrad.ir import check, jaxpr, passes, pretty

__all__ = ["check", "jaxpr", "passes", "pretty"]
