"""`transduce recipes`: the experiments that ship with the program."""

from transduce.cli.messages import print_json
from transduce.cli.options import Json


def recipes(json: Json = False) -> None:
    """List the built-in recipes.

    Example: `transduce recipes`
    """
    from transduce import experiment

    found = {name: experiment.describe_recipe(name) for name in experiment.recipes()}
    if json:
        print_json(found)
        return
    from transduce.cli.listing import print_facts

    print_facts(found)
