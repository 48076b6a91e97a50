"""What the library says fits whoever calls it: from Python there are no flags of a command line."""

import ast
import re
from pathlib import Path

import transduce

SOURCE = Path(transduce.__file__).parent


def test_no_error_outside_the_command_line_names_a_flag() -> None:
    files = [path for path in SOURCE.rglob("*.py") if "cli" not in path.relative_to(SOURCE).parts]
    named = [
        f"{path.relative_to(SOURCE)}:{part.lineno}: {part.value}"
        for path in files
        for statement in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(statement, ast.Raise)
        for part in ast.walk(statement)
        if isinstance(part, ast.Constant) and isinstance(part.value, str) and re.search(r"--[a-z]", part.value)
    ]
    assert len(files) > 100 and named == []
