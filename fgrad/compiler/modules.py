"""Modules of fgrad as text: where a name is defined, and a definition with the names in it replaced."""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import itertools
import re
import textwrap
import types
from collections.abc import Callable, Iterator

#: What a name stands for, as text, where some names are local; None leaves it as it is.
Resolve = Callable[[str, frozenset[str]], str | None]
#: What a function stands for that gives its argument back.
IDENTITY = "identity"

_MARKS = re.compile(r"[ \t]*# (?:type: ignore|noqa|pragma)[^\n]*")
Function = ast.FunctionDef | ast.Lambda


class Source:
    """The text of a module and what each name at its top level is bound by."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.text = inspect.getsource(importlib.import_module(name))
        self.lines = self.text.splitlines(keepends=True)
        self.tree = ast.parse(self.text)
        self.bindings: dict[str, ast.stmt] = {}
        self.imports: dict[str, tuple[str, str | None]] = {}
        for node in self.tree.body:
            self._bind(node)

    def _bind(self, node: ast.stmt) -> None:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            self.bindings[node.name] = node
        elif isinstance(node, ast.Import):
            for alias in node.names:
                whole = alias.name if alias.asname else alias.name.partition(".")[0]
                self.imports[alias.asname or whole] = whole, None
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                self.imports[alias.asname or alias.name] = node.module or "", alias.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            self.bindings.update(dict.fromkeys(assigned_names(node), node))

    def offset(self, line: int, column: int) -> int:
        """The position in the text of a place that `ast` gives, whose columns count bytes."""
        before = self.lines[line - 1].encode()[:column].decode()
        return self._starts[line - 1] + len(before)

    @functools.cached_property
    def _starts(self) -> list[int]:
        starts = [0]
        for line in self.lines:
            starts.append(starts[-1] + len(line))
        return starts

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Where the text of a node begins and ends."""
        start = self.offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]
        return start, self.offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def member(self, class_name: str, name: str) -> ast.stmt | None:
        """The statement of a class that binds a name."""
        node = self.bindings[class_name]
        assert isinstance(node, ast.ClassDef)
        for statement in node.body:
            if isinstance(statement, ast.FunctionDef) and statement.name == name:
                return statement
            targets: list[ast.expr] = []
            if isinstance(statement, ast.Assign):
                targets = statement.targets
            elif isinstance(statement, ast.AnnAssign):
                targets = [statement.target]
            if any(isinstance(t, ast.Name) and t.id == name for t in targets):
                return statement
        return None

    def function_at(self, code: types.CodeType) -> Function | None:
        """The definition or lambda expression that a code object was compiled from."""
        found: list[Function] = []
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
                first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            elif isinstance(node, ast.Lambda) and code.co_name == "<lambda>":
                first = node.lineno
            else:
                continue
            if first == code.co_firstlineno:
                found.append(node)
        if len(found) > 1:
            # Several lambda expressions of one line start in different columns.
            columns = {c for _, _, c, _ in code.co_positions() if c is not None}
            found = [
                f
                for f in found
                if isinstance(f, ast.Lambda)
                and any(f.body.col_offset <= c < (f.body.end_col_offset or 0) for c in columns)
            ]
        return found[0] if len(found) == 1 else None

    def rewritten(self, node: ast.AST, resolve: Resolve, name: str | None = None) -> str:
        """The text of a node, its global names replaced, without annotations, dedented.

        A function or class is given another name if one is asked for.
        """
        start, stop = self.span(node)
        decorators = getattr(node, "decorator_list", [])
        if decorators:
            start = min(self.span(d)[0] for d in decorators) - 1
        changes = list(self._changes(node, resolve))
        if name is not None and isinstance(node, ast.FunctionDef | ast.ClassDef):
            at = self.text.index(node.name, self.span(node)[0])
            changes.append((at, at + len(node.name), name))
        pieces, done = [], start
        for first, last, text in sorted(changes):
            if first >= done:
                pieces += [self.text[done:first], text]
                done = last
        pieces.append(self.text[done:stop])
        column = start - (self.text.rfind("\n", 0, start) + 1) if isinstance(node, ast.stmt) else 0
        return _MARKS.sub("", textwrap.dedent(" " * column + "".join(pieces)))

    def _changes(self, node: ast.AST, resolve: Resolve) -> Iterator[tuple[int, int, str]]:
        fields = node.body if isinstance(node, ast.ClassDef) else []
        pending: list[tuple[ast.AST, frozenset[str]]] = [(node, frozenset())]
        while pending:
            current, local = pending.pop()
            if isinstance(current, ast.FunctionDef | ast.Lambda):
                yield from self._annotations(current)
                local |= _locals(current)
            elif isinstance(current, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
                local |= _stored(current)
            elif isinstance(current, ast.AnnAssign):
                if current in fields:
                    yield (*self.span(current.annotation), "object")
                elif current.value is not None:
                    target = self.span(current.target)[1]
                    yield target, self.span(current.annotation)[1], ""
                pending += [(current.target, local)]
                pending += [(current.value, local)] if current.value is not None else []
                continue
            if isinstance(current, ast.IfExp | ast.If | ast.BoolOp):
                kept = list(self._decided(current, resolve, local))
                if kept:
                    yield from [k for k in kept if isinstance(k, tuple)]
                    pending += [(k, local) for k in kept if isinstance(k, ast.AST)]
                    continue
            if isinstance(current, ast.Call) and len(current.args) == 1:
                called = _dotted(current.func)
                if called is not None and self._global(called, resolve, local) == IDENTITY:
                    (start, stop), (inside, end) = map(self.span, (current, current.args[0]))
                    yield start, inside, ""
                    yield end, stop, ""
                    pending.append((current.args[0], local))
                    continue
            dotted = _dotted(current)
            if dotted is not None:
                replacement = self._global(dotted, resolve, local)
                if replacement is not None:
                    yield (*self.span(current), replacement)
                    continue
            for child in ast.iter_child_nodes(current):
                if not _is_annotation(current, child):
                    pending.append((child, local))

    def _decided(
        self, node: ast.IfExp | ast.If | ast.BoolOp, resolve: Resolve, local: frozenset[str]
    ) -> Iterator[tuple[int, int, str] | ast.AST]:
        """Changes that leave out what a flag decides against, and what is left; nothing if none does."""
        if isinstance(node, ast.BoolOp):
            neutral = isinstance(node.op, ast.And)
            left = [v for v in node.values if self._flag(v, resolve, local) is not neutral]
            if node.values[0] in left and len(left) < len(node.values):
                yield from left
                for before, value in itertools.pairwise(node.values):
                    if value not in left:
                        yield self.span(before)[1], self.span(value)[1], ""
            return
        decision = self._flag(node.test, resolve, local)
        if isinstance(node, ast.IfExp) and decision is not None:
            (start, stop), (body, body_end) = map(self.span, (node, node.body))
            other, other_end = self.span(node.orelse)
            yield node.body if decision else node.orelse
            first, last = (body, body_end) if decision else (other, other_end)
            yield start, first, ""
            yield last, stop, ""
        elif isinstance(node, ast.If) and decision is False and not node.orelse:
            start, stop = self.span(node)
            yield self.text.rindex("\n", 0, start), stop, ""

    def _flag(self, node: ast.AST, resolve: Resolve, local: frozenset[str]) -> bool | None:
        """What an expression of flags is, where these decide it."""
        dotted = _dotted(node)
        if dotted is not None:
            found = self._global(dotted, resolve, local) if "." in dotted else None
            return {"True": True, "False": False}.get(found or "")
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            inner = self._flag(node.operand, resolve, local)
            return None if inner is None else not inner
        if isinstance(node, ast.BoolOp):
            decides = isinstance(node.op, ast.Or)
            # What comes before a flag might have an effect, or raise; a flag comes first where it decides.
            return decides if self._flag(node.values[0], resolve, local) is decides else None
        return None

    def _global(self, dotted: str, resolve: Resolve, local: frozenset[str]) -> str | None:
        head = dotted.partition(".")[0]
        known = head in self.bindings or head in self.imports
        return resolve(dotted, local) if known and head not in local else None

    def _annotations(self, node: Function) -> Iterator[tuple[int, int, str]]:
        a = node.args
        for arg in (*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg):
            if arg is not None and arg.annotation is not None:
                name_end = self.offset(arg.lineno, arg.col_offset) + len(arg.arg)
                stop = self.span(arg.annotation)[1]
                # A default after an annotation has spaces around its sign.
                rest = re.match(r"\s*=\s*", self.text[stop:])
                if rest:
                    yield name_end, stop + rest.end(), "="
                else:
                    yield name_end, stop, ""
        if isinstance(node, ast.FunctionDef) and node.returns is not None:
            start, stop = self.span(node.returns)
            arrow = self.text.rindex("->", 0, start)
            while self.text[arrow - 1] == " ":
                arrow -= 1
            yield arrow, stop, ""


@functools.cache
def source_of(module: str) -> Source:
    """The text of a module, read once."""
    return Source(module)


def assigned_names(node: ast.Assign | ast.AnnAssign) -> list[str]:
    """The names that a statement binds."""
    targets: list[ast.AST] = []
    targets += node.targets if isinstance(node, ast.Assign) else [node.target]
    return [n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)]


def _is_annotation(parent: ast.AST, child: ast.AST) -> bool:
    if isinstance(parent, ast.arg):
        return child is parent.annotation
    return isinstance(parent, ast.FunctionDef) and child is parent.returns


def _dotted(node: ast.AST) -> str | None:
    """``a.b.c`` for a chain of attributes that are read."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load):
        return None
    return ".".join([node.id, *reversed(names)])


def _stored(node: ast.AST) -> frozenset[str]:
    return frozenset(
        n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    )


def _locals(node: Function) -> frozenset[str]:
    """The names that belong to a function."""
    a = node.args
    names = {arg.arg for arg in (*a.posonlyargs, *a.args, *a.kwonlyargs)}
    names |= {arg.arg for arg in (a.vararg, a.kwarg) if arg is not None}
    bodies = [node.body] if isinstance(node, ast.Lambda) else node.body
    outer: set[str] = set()
    pending: list[ast.AST] = list(bodies)
    while pending:
        current = pending.pop()
        if isinstance(current, ast.Global):
            outer.update(current.names)
        elif isinstance(current, ast.Name) and isinstance(current.ctx, ast.Store):
            names.add(current.id)
        elif isinstance(current, ast.ExceptHandler) and current.name:
            names.add(current.name)
        elif isinstance(current, ast.Import | ast.ImportFrom):
            names |= {alias.asname or alias.name.partition(".")[0] for alias in current.names}
        elif isinstance(current, ast.FunctionDef):
            names.add(current.name)
            continue
        elif isinstance(
            current, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
        ):
            continue
        pending.extend(ast.iter_child_nodes(current))
    return frozenset(names - outer)
