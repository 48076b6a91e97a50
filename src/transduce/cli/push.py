"""`transduce push`: a model's folder to the Hugging Face hub, after a look at what it would be."""

from pathlib import Path
from typing import Annotated

import typer

from transduce.cli.messages import print_json
from transduce.cli.options import Json


def push(
    folder: Annotated[Path, typer.Argument(help="The folder of a model or an export.", show_default=False)],
    name: Annotated[str, typer.Argument(help="Where to: OWNER/NAME.", show_default=False)],
    yes: Annotated[bool, typer.Option("--yes", help="Upload; without it, only show what would be uploaded.")] = False,
    private: Annotated[bool, typer.Option("--private", help="Make a new repository private.")] = False,
    json: Json = False,
) -> None:
    """Show which files would be uploaded to the Hugging Face hub, and upload them with --yes.

    Example: `transduce push captions-hf ada/captions`
    """
    from transduce.exchange.huggingface import pushing

    upload = pushing.plan_upload(folder, name)
    if not json:
        width = max(len(f"{size:,}") for size in upload.files.values())
        for file, size in upload.files.items():
            print(f"{size:{width},}  {file}")
        print(f"{sum(upload.files.values()):,} bytes in {len(upload.files)} files, for {name}")
        if not upload.names_license:
            print(f"no licence is named in {pushing.CARD}; `transduce export --license` names one")
    address = pushing.push(upload, private) if yes else None
    if json:
        print_json({"name": name, "files": upload.files, "uploaded": address})
    elif address is None:
        print("nothing is uploaded; --yes uploads it")
    else:
        print(f"uploaded to {address}")
