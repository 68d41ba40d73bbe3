"""A bare ``%kvpool`` line shows its result itself; this keeps IPython from showing it again as ``Out[n]``.

Must not know: what the magic does.
"""

from __future__ import annotations

import ast

_CALLS = ("run_line_magic", "run_cell_magic")


class BareMagic(ast.NodeTransformer):
    """Wraps a statement that is only a ``kvpool`` magic in ``if True:``, which has no value to show.

    ``x = %kvpool ...`` is an assignment and stays as it is. Registered in ``ip.ast_transformers``.
    """

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        """Wrap ``node`` when it is a bare call of the magic."""
        if not _is_kvpool(node.value):
            return node
        return ast.copy_location(ast.If(test=ast.Constant(True), body=[node], orelse=[]), node)


def _is_kvpool(value: ast.expr) -> bool:
    match value:
        case ast.Call(
            func=ast.Attribute(value=ast.Call(func=ast.Name(id="get_ipython")), attr=attr),
            args=[ast.Constant(value="kvpool"), *_],
        ):
            return attr in _CALLS
    return False
