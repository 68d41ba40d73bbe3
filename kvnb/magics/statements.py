"""A bare ``%kvpool`` line shows its result itself; this keeps IPython from showing it again as ``Out[n]``.

Must not know: what the magic does.
"""

from __future__ import annotations

import ast
from typing import Any

_CALLS = ("run_line_magic", "run_cell_magic")


class BareMagic(ast.NodeTransformer):
    """Makes of a statement that is only a ``kvpool`` magic the test of an ``if``, which has no value to show.

    ``x = %kvpool ...`` is an assignment and stays as it is. Registered in ``ip.ast_transformers``.
    """

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        """``if (call,): pass`` when ``node`` is a bare call of the magic."""
        if not _is_kvpool(node.value):
            return node
        # A tuple around the result, which need not have a truth value; IPython would show an expression in a body.
        test = ast.Tuple(elts=[node.value], ctx=ast.Load())
        return ast.copy_location(ast.If(test=test, body=[ast.Pass()], orelse=[]), node)


def bare_calls(source: str) -> frozenset[tuple[Any, ...]]:
    """The arguments of the bare magics of a cell, as IPython made Python of it: the line, and of a cell magic the body."""
    tree = compile(source, "<cell>", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    found = [node.value for node in tree.body if isinstance(node, ast.Expr) and _is_kvpool(node.value)]
    return frozenset(tuple(ast.literal_eval(arg) for arg in call.args[1:]) for call in found if isinstance(call, ast.Call))


def _is_kvpool(value: ast.expr) -> bool:
    match value:
        case ast.Call(
            func=ast.Attribute(value=ast.Call(func=ast.Name(id="get_ipython")), attr=attr),
            args=[ast.Constant(value="kvpool"), *_],
        ):
            return attr in _CALLS
    return False
