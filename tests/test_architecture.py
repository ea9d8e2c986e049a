"""The house: a room imports only from rooms above it, and reaches into nobody's privates.

The list of rooms is DESIGN's drawing. The test reads syntax trees, so that an import inside a function counts too.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "workbench"
ROOMS = (
    "errors", "config", "ir", "primitives", "frontend", "transforms", "fusion", "codegen", "runtime", "report",
    "notebook", "scale", "lax", "random", "api",
)  # fmt: skip
# The package itself is the front door: it names the public functions of `api` and loads the rest when asked.
FRONT_DOOR = "__init__"
# Where a room takes from a room below it, on purpose. Each entry says why.
EXCEPTIONS: dict[tuple[str, str], str] = {}

FILES = sorted(PACKAGE.rglob("*.py"))


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def module_of(path: Path) -> tuple[str, ...]:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


def imports(path: Path):
    """(absolute module, imported name or "", line) of every import of the workbench in a file, types aside."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    types_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
        for inner in ast.walk(node)
    }
    package = module_of(path) if path.name == "__init__.py" else module_of(path)[:-1]
    for node in ast.walk(tree):
        if id(node) in types_only:
            continue
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] == "workbench":
                    yield tuple(alias.name.split(".")), "", node.lineno
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            target = (*base, *(node.module.split(".") if node.module else ()))
            if target and target[0] == "workbench":
                for alias in node.names:
                    yield target, alias.name, node.lineno


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_run_one_way(path):
    room = room_of(path)
    if room == FRONT_DOOR:
        return
    assert room in ROOMS, f"{room} is not a room of the house: add it to DESIGN's list and to ROOMS"
    for target, name, line in imports(path):
        taken = target[1] if len(target) > 1 else name
        if taken.startswith("__") or (len(target) == 1 and not taken):
            continue  # workbench.__version__
        assert taken in ROOMS, f"{path.name}:{line} imports {'.'.join(target)}"
        if ROOMS.index(taken) > ROOMS.index(room):
            assert (room, taken) in EXCEPTIONS, f"{path.name}:{line}: {room} imports upwards, from {taken}"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_no_room_reaches_into_the_privates_of_another(path):
    room = room_of(path)
    for target, name, line in imports(path):
        taken = target[1] if len(target) > 1 else name
        if taken == room:
            continue
        private = [part for part in (*target, name) if part.startswith("_") and not part.startswith("__")]
        assert not private, f"{path.name}:{line} imports {private[0]} from {taken}"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_files_open_with_a_paragraph_and_keep_to_one_subject(path):
    text = path.read_text(encoding="utf-8")
    if text.strip():
        assert ast.get_docstring(ast.parse(text)), f"{path.name} does not say what it is about"
    assert len(text.splitlines()) <= 660, f"{path.name}: look for the second idea"


def test_every_room_of_the_package_is_in_the_list():
    rooms = {p.name.removesuffix(".py") for p in PACKAGE.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()}
    assert rooms - {FRONT_DOOR} <= set(ROOMS)
