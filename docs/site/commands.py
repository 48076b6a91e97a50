"""The page of all commands with their options, made of what `--help` shows."""

from collections.abc import Iterator
from typing import Any

from transduce.apps.cli.main import app


def markdown() -> str:
    """Returns the page."""
    parts = [
        "# Commands",
        "`transduce COMMAND --help` shows each of these, in groups. Every command also takes `--debug`, before or "
        "after its name, which shows the traceback of a failure. An option's other form turns it off.",
    ]
    for name, command in commands():
        about, _, example = command.help.strip().partition("Example: ")
        parts += [f"## {name}", "\n\n".join(" ".join(part.split()) for part in about.split("\n\n") if part.strip())]
        parts += [f"```sh\n{example.strip().strip('`')}\n```"] if example else []
        rows = [
            f"| {', '.join(f'`{form}`' for form in forms)} | {meaning(parameter)} |"
            for parameter in command.params
            if not getattr(parameter, "hidden", False) and (forms := forms_of(parameter)) != ["--help"]
        ]
        parts.append("\n".join(["| argument or option | meaning |", "| --- | --- |", *rows]))
    return "\n\n".join(parts) + "\n"


def commands() -> Iterator[tuple[str, Any]]:
    """Yields each command with its name; those of a group as `data clean`."""
    for name, command in app.all_commands().items():
        inner = getattr(command, "commands", None)
        yield from [(name, command)] if inner is None else ((f"{name} {verb}", each) for verb, each in inner.items())


def forms_of(parameter: Any) -> list[str]:
    """Returns the ways to write an argument or an option."""
    if parameter.param_type_name == "argument":
        return [parameter.name.rstrip("_").upper()]
    return [*parameter.opts, *parameter.secondary_opts]


def meaning(parameter: Any) -> str:
    """Returns the help of an argument or an option, with its default, as a cell of a table."""
    text, default = " ".join((parameter.help or "").split()), parameter.default
    if isinstance(default, int | float | str) and not isinstance(default, bool) and default != "":
        text += f" Default: {default}."
    return text.replace("|", "\\|").replace("<", "&lt;")
