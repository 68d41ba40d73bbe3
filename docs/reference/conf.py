"""How the reference is built from the docstrings: strictly, and without network. ``build.py`` beside this file runs it."""

from __future__ import annotations

import ast
import builtins
import inspect
import pkgutil
import re
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, get_args, get_type_hints

from sphinx.addnodes import pending_xref
from sphinx.util.nodes import make_refnode

import kvnb

project = "kvnb"
author = "the authors of kvnb"
copyright = "the authors of kvnb, Apache-2.0"
release = version = kvnb.__version__

extensions = ["sphinx.ext.autodoc"]
nitpicky = True
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "ignore-module-all": True}
autodoc_typehints_format = "short"
autodoc_use_type_comments = False
python_maximum_signature_line_length = 96
add_module_names = False
toc_object_entries = False

html_theme = "furo"
html_title = "kvnb, the reference"
html_static_path = ["_static"]
html_css_files = ["kvnb.css"]
html_show_sphinx = False
html_copy_source = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0072B2", "color-brand-content": "#0072B2", "color-api-name": "#0B5688"},
    "dark_css_variables": {"color-brand-primary": "#56B4E9", "color-brand-content": "#56B4E9", "color-api-name": "#8CCBF0"},
}


def modules() -> list[ModuleType]:
    """All of kvnb."""
    found = pkgutil.walk_packages(kvnb.__path__, "kvnb.")
    return [kvnb, *(import_module(module.name) for module in found if not module.name.endswith("__main__"))]


def resolve_types(module: ModuleType) -> None:
    """Run what stands under ``if TYPE_CHECKING``, so that an annotation means what it means in its own module."""
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            exec(compile(ast.Module(node.body, []), str(module.__file__), "exec"), module.__dict__)
    for kind in vars(module).values():
        if isinstance(kind, type) and hasattr(kind, "_fields") and kind.__module__ == module.__name__:
            kind.__new__.__annotations__ = get_type_hints(kind)


def paragraphs(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """What stands right behind a list of arguments begins a paragraph, without the blank line that markup asks for."""
    if lines and lines[0].startswith("Alias for field number "):
        lines.clear()
    for number in range(len(lines) - 1, 0, -1):
        if lines[number].startswith("Must not know:"):
            lines[number:number] = [".. rst-class:: kvnb-not", ""]
        before, line, after = lines[number - 1], lines[number], "".join(lines[number + 1 : number + 2])
        if before[:1] == " " and line[:1].strip() and after[:1] != " ":
            lines.insert(number, "")


def signature(app: Any, what: str, name: str, obj: Any, options: Any, given: str, returns: str) -> tuple[str, str] | None:
    """Unions of many by their names; a default that has no spelling as dots; nothing for what traitlets makes of a class."""
    if not given:
        return None
    given = "" if "t.Any" in given else re.sub(r"<([^<>]|<[^<>]*>)*>", "...", given)
    for union, its_name in unions():
        given, returns = given.replace(union, its_name), returns and returns.replace(union, its_name)
    return given, returns


@cache
def unions() -> list[tuple[str, str]]:
    """The lists of events as signatures spell them, the longest first, and their names."""
    places = {"Event": "kvnb.journal.events", "ManagerEvent": "kvnb.manager.events", "PoolEvent": "kvnb.core.events"}
    kinds = {f"~{place}.{name}": get_args(getattr(import_module(place), name)) for name, place in places.items()}
    spelled = [(" | ".join(f"~{kind.__module__}.{kind.__name__}" for kind in several), name) for name, several in kinds.items()]
    return sorted(spelled, key=lambda pair: -len(pair[0]))


def names_of_others(app: Any, doctree: Any) -> None:
    """Python's own names and other packages' have no page: they are text, and nobody looks for them among kvnb's."""
    for node in list(doctree.findall(pending_xref)):
        name = node["reftarget"]
        is_foreign = name in vars(builtins) or ("." in name and not name.startswith("kvnb."))
        if node["refdomain"] == "py" and is_foreign and is_there(name, None):
            node.replace_self(node.children)


def other_name(app: Any, env: Any, node: Any, shown: Any) -> Any:
    """A name that is no class here: an alias of types, which has its place, or one that has none but is there."""
    name = node["reftarget"]
    objects = env.domains["py"].objects
    if name in objects:
        return make_refnode(app.builder, node["refdoc"], objects[name].docname, objects[name].node_id, shown, name)
    return shown if is_there(name, node.get("py:module")) else None


@cache
def is_there(name: str, module: str | None) -> bool:
    """Whether the module has that name, or it can be imported: other packages have no page, there is no network."""
    scope = {**vars(builtins), **(vars(import_module(module)) if module else {})}
    if name.partition(".")[0] in scope:
        return True
    try:
        pkgutil.resolve_name(name)
    except (ImportError, AttributeError, ValueError):
        return False
    return True


def setup(app: Any) -> None:
    """Called by Sphinx."""
    for module in modules():
        resolve_types(module)
    app.connect("autodoc-process-docstring", paragraphs)
    app.connect("autodoc-process-signature", signature)
    app.connect("doctree-read", names_of_others)
    app.connect("missing-reference", other_name)
