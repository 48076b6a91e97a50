"""`transduce serve`: translation models for programs and people."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from transduce.cli.fields import From, options_from
from transduce.cli.machine import Machine

if TYPE_CHECKING:
    from transduce.serving.settings import ServerSettings

SERVER = From(
    "serving.settings.ServerSettings",
    "host port keys cors allowed_host=allowed_hosts trusted_proxy=trusted_proxies public_metrics max_characters "
    "max_sentences max_upload=max_upload_bytes max_document_characters document_workers document_memory max_waiting "
    "max_connections max_headers=max_header_bytes max_kept=max_kept_bytes requests_per_minute characters_per_minute "
    "timeout header_timeout body_timeout idle_timeout grace beam_size",
)


def serve(
    models: Annotated[
        list[str], typer.Argument(help="Folders of models, runs or exported models.", show_default=False)
    ],
    settings: Annotated["ServerSettings", options_from(SERVER)],
    machine: Machine,
    compile: Annotated[bool, typer.Option("--compile", help="Compile the models (1 to 2 minutes each).")] = False,
) -> None:
    """Serve translation models over HTTP: LibreTranslate's API, one of our own, and a page for people.

    SIGHUP loads the models anew; SIGTERM ends the server after what has begun, and within the grace.

    Example: `transduce serve runs/captions`
    """
    from transduce.errors import InputError

    try:
        from transduce.serving.metrics import Metrics
        from transduce.serving.models import Models
        from transduce.serving.running import check_free, check_temporary_folder, run_server
        from transduce.serving.server import Server
    except ImportError as error:
        raise InputError(
            f"serving needs {error.name}, which is not installed; install it with: pip install '.[serve,documents]' in "
            "the folder of Transduce"
        ) from None
    from transduce.inference.translator import Translator
    from transduce.serving.keys import Keys

    if settings.keys is not None:
        Keys(settings.keys).list()
    host, port = settings.host, settings.port
    check_free(host, port)
    check_temporary_folder()
    metrics = Metrics()
    found = Models(
        models,
        lambda folder: Translator.load(folder, device=machine.device, precision=machine.precision, compile=compile),
        metrics,
    )
    if settings.is_public and settings.keys is None:
        print(f"transduce: anyone who reaches {host} can use this server; --keys asks for keys", file=sys.stderr)
    print(f"transduce: http://{f'[{host}]' if ':' in host else host}:{port}", file=sys.stderr, flush=True)
    run_server(Server(found, settings, metrics))
