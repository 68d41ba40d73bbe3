"""Build the reference from the docstrings: ``python docs/reference/build.py [FOLDER]``, by default ``build/reference``.

A docstring that is no sound markup, and a name that is not there, is an error. Nothing is fetched, and the pages fetch nothing.
The rooms come in the order of the layers in ``pyproject.toml``, from the core upwards; needs the extra ``docs``.
"""

from __future__ import annotations

import inspect
import shutil
import sys
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "notebooks" / "pictures")]

from layers import layers  # noqa: E402

from kvnb import Lab  # noqa: E402

PUBLIC = {"kvnb.lab.lab": "Lab", "kvnb.commands.panels": "dashboard", "kvnb.export": "export", "kvnb.export.report": "report"}
"""What has a page for its users stands there, and not on its room's page a second time."""
OWN_PAGE = ("kvnb.results", "kvnb.errors")


def build(out: Path) -> int:
    """Write the pages into the folder ``out``; 0 when nothing is wrong."""
    from sphinx.cmd.build import build_main

    with TemporaryDirectory() as folder:
        source = Path(folder) / "source"
        shutil.copytree(HERE, source, ignore=shutil.ignore_patterns("__pycache__"))
        write_rooms(source)
        users = source / "lab.rst"
        users.write_text(users.read_text("utf-8").replace(".. kvnb-members\n", members()), "utf-8")
        return build_main(["-b", "html", "-W", "--keep-going", "-q", str(source), str(out)])


def write_rooms(source: Path) -> None:
    """A page a package, with its modules in it, and one for each module that is a room; and all of them on the first page."""
    names, lines = [], []
    for room in (room for layer in reversed(layers()) for room in layer):
        place = ROOT / "kvnb" / room.name
        for package in sorted(init.parent for init in place.rglob("__init__.py")) or [place.with_suffix(".py")]:
            name = dotted(package)
            if name not in OWN_PAGE:
                (source / f"{name}.rst").write_text(page(package), "utf-8")
                names.append(f"   {name}")
                lines.append(f"- :doc:`{name}`: {first_line(import_module(name))}")
    tree = ["", ".. toctree::", "   :caption: The rooms", "   :hidden:", "", *names]
    rooms = ["", heading("The rooms, from the core upwards", "-"), *lines, ""]
    with (source / "index.rst").open("a", encoding="utf-8") as index:
        index.write("\n".join([*tree, *rooms]))


def members() -> str:
    """What a Lab has, by the classes that it is put together from, with a line each."""
    parts = []
    for kind in Lab.__mro__[:-1]:
        says = "How a pool comes and goes" if kind is Lab else first_line(kind).partition(";")[0]
        documented = [name for name, member in vars(kind).items() if name[0] != "_" and not isinstance(member, str)]
        lines = [
            f"- :py:obj:`~kvnb.Lab.{name}`: {first_line(getattr(Lab, name)).partition(' Raises ')[0]}" for name in documented
        ]
        parts += [f"**{says}**", "", *lines, ""]
    return "\n".join(parts)


def first_line(thing: object) -> str:
    """The first line of a docstring."""
    return (inspect.getdoc(thing) or "").partition("\n")[0]


def page(package: Path) -> str:
    """The page of a package or of a single module."""
    parts = [heading(dotted(package).removeprefix("kvnb."), "="), module_text(package)]
    for module in sorted(package.glob("[!_]*.py")):
        parts += [heading(module.stem, "-"), module_text(module)]
    return "\n".join(parts)


def module_text(path: Path) -> str:
    """The docstrings of one module."""
    name = dotted(path)
    without = f"   :exclude-members: {PUBLIC[name]}\n" if name in PUBLIC else ""
    return f".. automodule:: {name}\n{without}"


def heading(text: str, line: str) -> str:
    """A heading of a page or section."""
    return f"{text}\n{line * len(text)}\n"


def dotted(path: Path) -> str:
    """The name under which a file or folder is imported."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def main() -> int:
    """Build, and say where the first page is."""
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "reference"
    failed = build(out)
    print(f"{'it was not built' if failed else out / 'index.html'}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
