"""The rules of the house, as tests: style, types, imports, sizes, and that README tells the truth."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MODULES = sorted((ROOT / "kvnb").rglob("*.py"))


def run_tool(name: str, *arguments: str) -> None:
    tool = Path(sys.executable).with_name(name)
    done = subprocess.run([tool, *arguments], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def functions(path: Path) -> list[ast.FunctionDef]:
    return [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)]


def lines_of(function: ast.FunctionDef) -> int:
    assert function.end_lineno is not None
    return function.end_lineno - function.lineno + 1


def test_the_style_is_clean():
    run_tool("ruff", "check", "kvnb", "tests", "notebooks", "docs")


def test_the_layout_is_the_formatters():
    run_tool("ruff", "format", "--check", "kvnb", "tests")


@pytest.mark.skipif(sys.version_info < (3, 11), reason="IPython 8, which Python 3.10 gets, has no types")
def test_types_are_strict():
    run_tool("mypy", "kvnb")


def test_imports_point_downwards_only():
    run_tool("lint-imports")


def test_no_room_is_too_large():
    for path in [*MODULES, *(ROOT / "tests").rglob("*.py")]:
        assert len(path.read_text().splitlines()) <= 350, path


def test_a_median_function_is_under_ten_lines_and_none_over_sixty():
    sizes = sorted(lines_of(function) for path in MODULES for function in functions(path))
    assert sizes[len(sizes) // 2] < 10
    assert sizes[-1] <= 60


@pytest.mark.parametrize("path", [p for p in MODULES if p.name not in ("__init__.py",)], ids=lambda p: p.stem)
def test_each_module_says_at_its_head_what_it_must_not_know(path: Path):
    head = ast.get_docstring(ast.parse(path.read_text())) or ""
    assert "Must not know:" in head, path


@pytest.mark.parametrize("path", sorted((ROOT / "kvnb").glob("*/__init__.py")), ids=lambda p: p.parent.name)
def test_each_package_says_what_it_must_not_know(path: Path):
    assert "Must not know:" in (ast.get_docstring(ast.parse(path.read_text())) or ""), path


def test_nothing_that_looks_like_a_test_lacks_the_prefix():
    for path in (ROOT / "tests").rglob("test_*.py"):
        for function in functions(path):
            assert not function.name.startswith(("_test", "tests_")), (path, function.name)
