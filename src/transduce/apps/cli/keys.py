"""Make, list and revoke the keys of a server's clients."""

from pathlib import Path
from typing import Annotated

from transduce.apps.cli.fields import Help
from transduce.base.ranges import PositiveInt

KeyFile = Annotated[Path, Help("The SQLite file of the keys, which holds only their hashes")]
Name = Annotated[str, Help("Whose key it is")]


def add(
    file: KeyFile,
    name: Name,
    *,
    admin: bool = False,
    requests_per_minute: PositiveInt | None = None,
    characters_per_minute: PositiveInt | None = None,
) -> None:
    """Make a key and print it, this once.

    Example: `transduce keys add keys.sqlite anna`

    Args:
        admin: May reload models and read metrics.
        requests_per_minute: Requests a minute (default: the server's).
        characters_per_minute: Characters a minute (default: the server's).
    """
    from transduce.apps.serving.client_keys import Keys

    print(Keys(file).add(name, admin, requests_per_minute, characters_per_minute))


def list_(file: KeyFile) -> None:
    """List the names of the keys, tab-separated: name, when it was made, `admin` for an administrator's.

    Example: `transduce keys list keys.sqlite`
    """
    from transduce.apps.serving.client_keys import Keys

    for key in Keys(file).list():
        print(key.name, key.created, "admin" if key.is_admin else "", sep="\t")


def revoke(file: KeyFile, name: Name) -> None:
    """Revokes a key, which a running server refuses from then on.

    Example: `transduce keys revoke keys.sqlite anna`
    """
    from transduce.apps.serving.client_keys import Keys

    Keys(file).revoke(name)
