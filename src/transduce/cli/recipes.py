"""`transduce recipes`: the experiments that ship with the program."""

from transduce.cli.options import Json


def recipes(json: Json = False) -> None:
    """List the built-in recipes.

    Example: `transduce recipes`
    """
    from rich.console import Console
    from rich.table import Table

    from transduce import experiment

    found = {name: experiment.describe_recipe(name) for name in experiment.recipes()}
    if json:
        import msgspec

        print(msgspec.json.encode(found).decode())
        return
    table = Table("recipe", "what it does", box=None)
    for name, description in found.items():
        table.add_row(name, description)
    Console().print(table)
