"""`transduce info`: what a model is, how it was trained, what it scored."""

from typing import Any

from transduce.cli.options import Json, Model


def info(model: Model, json: Json = False) -> None:
    """Tell what a model is.

    Example: `transduce info runs/multi30k`
    """
    import msgspec

    from transduce.config import flatten, to_tree
    from transduce.inference.exported import ExportedModel, open_model

    bundle = open_model(model)
    facts: dict[str, Any] = {
        "config": to_tree(bundle.config),
        "vocabulary": {"source": len(bundle.tokenizers.source), "target": len(bundle.tokenizers.target)},
    }
    if isinstance(bundle, ExportedModel):
        facts["export"] = {name: fact for name, fact in to_tree(bundle.export).items() if name != "sha256"}
    else:
        facts["parameters"] = sum(parameter.numel() for parameter in bundle.model.parameters())
    facts["history"] = bundle.history
    if json:
        print(msgspec.json.encode(facts).decode())
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("", "", box=None, show_header=False)
    for key, value in flatten(facts).items():
        shown = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
        table.add_row(key.removeprefix("config."), shown)
    Console().print(table)
