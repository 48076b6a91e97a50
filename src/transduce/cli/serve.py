"""`transduce serve`: translation models for programs and people."""

import sys
from typing import Annotated

import typer

from transduce.cli.options import BeamSize, Device, InferencePrecision, Threads, ranged
from transduce.ranges import MemoryInMiB, NonNegativeInt, Port, PositiveInt, Workers


def serve(
    models: Annotated[
        list[str], typer.Argument(help="Folders of models, runs or exported models.", show_default=False)
    ],
    host: Annotated[
        str, typer.Option(help="The address to listen on; 0.0.0.0 for all of this machine's.")
    ] = "127.0.0.1",
    port: Annotated[int, ranged(Port, "The port to listen on")] = 5000,
    keys: Annotated[
        str | None, typer.Option(help="A file of `transduce keys`; every request then needs a key.")
    ] = None,
    cors: Annotated[
        list[str] | None, typer.Option(help="An origin whose pages may use the server; repeatable.")
    ] = None,
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(help="A name of the server, or *.example.org; repeatable.", show_default=False),
    ] = None,
    trusted_proxy: Annotated[
        list[str] | None,
        typer.Option(
            help="An address or network of proxies whose X-Forwarded-For is believed; repeatable.", show_default=False
        ),
    ] = None,
    public_metrics: Annotated[
        bool, typer.Option("--public-metrics", help="Let anyone read /metrics where there are no keys.")
    ] = False,
    max_characters: Annotated[
        int, ranged(PositiveInt, "Characters of a request, its prefixes and glossaries included")
    ] = 10_000,
    max_sentences: Annotated[int, ranged(PositiveInt, "Sentences of a request")] = 500,
    max_upload: Annotated[int, ranged(PositiveInt, "Bytes of an uploaded document")] = 10 * 2**20,
    max_document_characters: Annotated[int, ranged(PositiveInt, "Characters of text in a document")] = 1_000_000,
    document_workers: Annotated[
        int, ranged(Workers, "Documents and HTML texts at work at a time, each in a process of its own")
    ] = 8,
    document_memory: Annotated[int, ranged(MemoryInMiB, "Memory of each of these processes in MiB")] = 512,
    max_waiting: Annotated[int, ranged(PositiveInt, "Requests in progress, half of them of one client")] = 256,
    max_connections: Annotated[int, ranged(PositiveInt, "Open connections, half of them of one client")] = 1000,
    max_headers: Annotated[int, ranged(PositiveInt, "Bytes of a request's headers")] = 32_768,
    max_kept: Annotated[
        int, ranged(PositiveInt, "Bytes of translated files to be fetched, a quarter of them of one client")
    ] = 200 * 2**20,
    requests_per_minute: Annotated[int, ranged(NonNegativeInt, "Of a key or an address; 0 for no limit")] = 0,
    characters_per_minute: Annotated[int, ranged(NonNegativeInt, "Of a key or an address; 0 for no limit")] = 0,
    timeout: Annotated[int, ranged(PositiveInt, "Seconds that a request may take")] = 60,
    header_timeout: Annotated[int, ranged(PositiveInt, "Seconds in which a request's headers must come")] = 10,
    body_timeout: Annotated[
        int, ranged(PositiveInt, "Seconds in which a request's body must come, and one more for each 32 KiB")
    ] = 30,
    idle_timeout: Annotated[int, ranged(PositiveInt, "Seconds that a connection is kept without a request")] = 15,
    grace: Annotated[int, ranged(PositiveInt, "Seconds in which SIGTERM ends the server, whatever is open")] = 30,
    beam_size: BeamSize = 4,
    device: Device = "auto",
    threads: Threads = None,
    precision: InferencePrecision = "float32",
    compile: Annotated[bool, typer.Option("--compile", help="Compile the models (1 to 2 minutes each).")] = False,
) -> None:
    """Serve translation models over HTTP: LibreTranslate's API, one of our own, and a page for people.

    SIGHUP loads the models anew; SIGTERM ends the server after what has begun, and within the grace.

    Example: `transduce serve runs/captions`
    """
    from transduce.cli.model import set_threads
    from transduce.errors import InputError
    from transduce.serving.settings import ServerSettings

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

    settings = ServerSettings(
        host,
        port,
        keys,
        tuple(cors or ()),
        tuple(allowed_host or ()),
        tuple(trusted_proxy or ()),
        public_metrics,
        beam_size=beam_size,
        max_characters=max_characters,
        max_sentences=max_sentences,
        max_upload_bytes=max_upload,
        max_document_characters=max_document_characters,
        document_workers=document_workers,
        document_memory=document_memory * 2**20,
        max_waiting=max_waiting,
        max_connections=max_connections,
        max_header_bytes=max_headers,
        max_kept_bytes=max_kept,
        requests_per_minute=requests_per_minute,
        characters_per_minute=characters_per_minute,
        timeout=timeout,
        header_timeout=header_timeout,
        body_timeout=body_timeout,
        idle_timeout=idle_timeout,
        grace=grace,
    )
    if keys is not None:
        Keys(keys).list()
    check_free(host, port)
    check_temporary_folder()
    set_threads(threads)
    metrics = Metrics()
    found = Models(
        models, lambda folder: Translator.load(folder, device=device, precision=precision, compile=compile), metrics
    )
    if settings.is_public and keys is None:
        print(f"transduce: anyone who reaches {host} can use this server; --keys asks for keys", file=sys.stderr)
    print(f"transduce: http://{f'[{host}]' if ':' in host else host}:{port}", file=sys.stderr, flush=True)
    run_server(Server(found, settings, metrics))
