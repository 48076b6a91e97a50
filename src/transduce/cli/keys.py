"""`transduce keys`: the keys of a server's clients."""

from pathlib import Path
from typing import Annotated

import typer

from transduce.cli.options import ranged
from transduce.ranges import PositiveInt

keys = typer.Typer(help="Make, list and revoke the keys of a server's clients.", no_args_is_help=True)

KeyFile = Annotated[Path, typer.Argument(help="The SQLite file of the keys, which holds only their hashes.")]
Name = Annotated[str, typer.Argument(help="Whose key it is.")]


@keys.command()
def add(
    file: KeyFile,
    name: Name,
    admin: Annotated[bool, typer.Option("--admin", help="May reload models and read metrics.")] = False,
    requests_per_minute: Annotated[int | None, ranged(PositiveInt, "Requests a minute (default: the server's)")] = None,
    characters_per_minute: Annotated[
        int | None, ranged(PositiveInt, "Characters a minute (default: the server's)")
    ] = None,
) -> None:
    """Make a key and print it, this once.

    Example: `transduce keys add keys.sqlite anna`
    """
    from transduce.serving.keys import Keys

    print(Keys(file).add(name, admin, requests_per_minute, characters_per_minute))


@keys.command("list")
def list_keys(file: KeyFile) -> None:
    """List the names of the keys, tab-separated: name, when it was made, `admin` for an administrator's.

    Example: `transduce keys list keys.sqlite`
    """
    from transduce.serving.keys import Keys

    for key in Keys(file).list():
        print(key.name, key.created, "admin" if key.is_admin else "", sep="\t")


@keys.command()
def revoke(file: KeyFile, name: Name) -> None:
    """Revokes a key, which a running server refuses from then on.

    Example: `transduce keys revoke keys.sqlite anna`
    """
    from transduce.serving.keys import Keys

    Keys(file).revoke(name)
