"""`transduce serve`: translation models for programs and people."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from docsegments.extras import lacking
from transduce.apps.cli.fields import From, options_from
from transduce.apps.cli.machine_options import MachineOptions, tell_engine
from transduce.apps.cli.options import Engine
from transduce.apps.cli.printing import teller
from transduce.base.files import check_temporary_folder

if TYPE_CHECKING:
    from transduce.apps.serving.server_settings import ServerSettings

SERVER = From(
    "apps.serving.server_settings.ServerSettings",
    "host port keys glossaries cors allowed_host=allowed_hosts trusted_proxy=trusted_proxies public_metrics "
    "max_characters max_sentences max_upload=max_upload_bytes max_document_characters document_workers "
    "document_memory max_waiting max_connections max_headers=max_header_bytes max_kept=max_kept_bytes "
    "requests_per_minute characters_per_minute timeout header_timeout body_timeout idle_timeout grace beam_size "
    "keep_numbers",
)


def serve(
    models: list[str],
    *,
    settings: Annotated["ServerSettings", options_from(SERVER)],
    projects: Path | None = None,
    machine: MachineOptions,
    engine: Engine = "auto",
    compile: bool = False,
) -> None:
    """Serve translation models over HTTP: the APIs of LibreTranslate and DeepL, one of our own, and a page for people.

    Two models that have a language in common serve the direction through it, too, if no model has that direction.
    SIGHUP loads the models again; SIGTERM ends the server after what has begun, and within the grace.

    Example: `transduce serve runs/captions`

    Args:
        models: Folders of models, runs or exported models.
        projects: A folder of projects, whose confirmed translations, memories and terms the server keeps and uses.
        compile: Compile the models (1 to 2 minutes each); on a GPU, make steps CUDA graphs.
    """
    check_temporary_folder()  # which libraries ask for as they are imported
    try:
        from transduce.apps.serving.glossaries import Glossaries
        from transduce.apps.serving.models import Models
        from transduce.apps.serving.prometheus import Metrics
        from transduce.apps.serving.running import check_free, run_server
        from transduce.apps.serving.server import Server
    except ImportError as error:
        raise lacking(error, "transduce.apps.serving", "serve,documents") from None
    from transduce.apps.projects.learning import BackgroundLearning
    from transduce.apps.projects.project import Projects
    from transduce.apps.projects.translation_facts import Learning
    from transduce.apps.serving.client_keys import Keys
    from transduce.inference.translator import Translator
    from transduce.search.beam import Beam

    if settings.keys is not None:
        Keys(settings.keys).list()
    if settings.glossaries is not None:
        Glossaries(settings.glossaries)
    host, port = settings.host, settings.port
    check_free(host, port)
    opened = None if projects is None else Projects(projects)
    metrics = Metrics()
    served = Models(
        models,
        lambda folder: Translator.load(
            folder, device=machine.device, precision=machine.precision, compile=compile, engine=engine
        ),
        metrics,
    )
    for model in served.all:
        tell_engine(model.translator, Beam(), teller(prefix=f"{model.name}: "))
        if model.through:
            teller()(
                f"{model.source} to {model.target} goes through {model.through} ({model.name}): two searches a "
                f"sentence, and what is lost in {model.through} stays lost"
            )
    served_directions = {(model.source, model.target) for model in served.all}
    for project in opened.all if opened else ():
        if (project.source, project.target) not in served_directions:
            teller()(
                f"{project.name}: no model from {project.source} to {project.target} is served, so it cannot translate"
            )
    if settings.is_public and settings.keys is None:
        teller()(f"anyone who reaches {host} can use this server; --keys asks for keys")
    teller()(f"http://{f'[{host}]' if ':' in host else host}:{port}")
    learning = Learning() if opened is None else BackgroundLearning(served.translator)
    run_server(Server(served, settings, metrics, opened, learning))
