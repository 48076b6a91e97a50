"""What many tests share: a tiny translator, trained once, and a server of files."""

import http.server
import os
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import jaxtyping
import pytest
import torch

from file_server import FileServer

# Axes in tensor signatures are checked while tests run; this must come before transduce is imported. Only rooms with
# tensors in their signatures: cli imports names for annotations alone, which cannot be checked. It takes as long as a
# tiny training itself, so only tests in the folders of CHECKS_AXES have it, and no function that is made at each call.
# Other rooms call the same functions, in trainings and translations of which a check of each call is half the time.
check_signature = jaxtyping.jaxtyped


def check_unless_local(*, typechecker: Callable[..., Any]) -> Callable[[Any], Any]:
    """What the hook calls to decorate a function or class."""
    check = check_signature(typechecker=typechecker)
    return lambda defined: defined if "<locals>" in defined.__qualname__ else check(defined)


jaxtyping.jaxtyped = check_unless_local
jaxtyping.install_import_hook(
    [f"transduce.{room}" for room in ("data.batch", "models", "nn", "objectives", "search")], "beartype.beartype"
)

import transduce.experiment.run  # noqa: E402
from transduce.analysis.plots import plot_training_curves  # noqa: E402
from transduce.analysis.training_log import read_curves  # noqa: E402
from transduce.experiment import machine  # noqa: E402
from transduce.phrases import phrase_model as phrases  # noqa: E402
from transduce.phrases import tuning  # noqa: E402
from transduce.training import estimate, memory_check  # noqa: E402

CHECKS_AXES = {"data", "models", "nn", "objectives", "search"}
TRIES_BATCHES = {"training"}

torch.set_num_threads(1)
os.fsync = lambda descriptor: None  # nobody pulls the plug
estimate.MAX_PARTS = 2  # foretelling how long a tiny training takes would be a sixth of it
machine.BOUTS, machine.ENOUGH = 1, 0.02  # seconds: no test asserts how fast a machine is, and many measure it
phrases.FOLDS, tuning.ROUNDS, tuning.STARTS, tuning.STEPS = 1, 2, 2, 20  # type: ignore[misc]  # a tenth of the time


def _check_memory_in_its_room(*arguments: Any, **named: Any) -> None:
    """Tries a run's largest batches and translations where that is tested, since it is a fifth of a tiny training."""
    if _room and _room[-1] in TRIES_BATCHES:
        _check_memory(*arguments, **named)


_room: list[str] = []
"""The folders of the tests so far."""
_check_memory = memory_check.MemoryCheck.run
memory_check.MemoryCheck.run = _check_memory_in_its_room  # type: ignore[method-assign]


def _draw_once(log: Path, picture: Path) -> None:
    """Draws the curves of a process's first run, and copies that picture for others: drawing takes as long as half of
    a tiny training."""
    read_curves(log)
    if not _drawn:
        plot_training_curves(log, picture)
        _drawn.append(picture.read_bytes())
    picture.write_bytes(_drawn[0])


_drawn: list[bytes] = []
transduce.experiment.run.plot_training_curves = _draw_once  # type: ignore[attr-defined]

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # a shell's job in the background, as which the tests may run
    signal.signal(signal.SIGINT, signal.default_int_handler)
os.environ["TRANSDUCE_DEVICE"] = "cpu"  # what is bit for bit the same is so there; GPUs have tests of their own
os.environ["TRANSDUCE_ENGINE"] = "pytorch"  # which all models have; others have tests of their own

hypothesis.settings.register_profile("untimed", deadline=None)  # no test asserts a time
hypothesis.settings.load_profile("untimed")

TINY = {
    "tokenizer": {"kind": "words", "shared": False, "min_frequency": 1},
    "batching": {"target_tokens": 128},
    "model": {
        "kind": "transformer",
        "encoder_layers": 1,
        "decoder_layers": 2,
        "dim": 24,
        "heads": 3,
        "feed_forward_dim": 40,
        "dropout": 0.1,
    },
    "training": {"updates": 30, "precision": "float32", "report_every": 5},
    "checkpoint": {"every_updates": 10},
    "validation": {"every_updates": 10, "samples": 0},
    "search": {"max_ratio": 1.0, "max_extra": 9},
}
"""Settings of a small run. Translating samples at each validation would take a third of its time, and so would
translations of 60 tokens, since such models do not know where a sentence ends."""


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Check the axes of tensors, and memory before a training, or not."""
    room = item.path.relative_to(Path(__file__).parent).parts[0]
    _room.append(room)
    jaxtyping.config.update("jaxtyping_disable", room not in CHECKS_AXES)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that have slow tests: in the end each process waits for others' last files, which are then
    quick ones."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


@pytest.fixture
def unchecked_axes() -> None:
    """For whole trainings in a room that checks axes: the checks would be half of their time."""
    jaxtyping.config.update("jaxtyping_disable", True)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests neither read nor fill the user's cache."""
    monkeypatch.setenv("TRANSDUCE_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with train, dev and test files of the small corpus, .en and .de."""
    from small_corpus import small_corpus
    from transduce.corpora.generated.grammar import split_pairs

    folder = tmp_path_factory.mktemp("corpus")
    parts = split_pairs(small_corpus(160), 23, 17)
    for name, part in zip(("train", "dev", "test"), parts, strict=True):
        (folder / f"{name}.en").write_text("".join(f"{pair.source}\n" for pair in part), encoding="utf-8")
        (folder / f"{name}.de").write_text("".join(f"{pair.target}\n" for pair in part), encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def recipe_file(corpus: Path) -> Path:
    """A TOML recipe for the corpus."""
    return write_recipe(corpus)


@pytest.fixture(scope="session")
def tiny_run(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run."""
    from transduce.experiment import load_recipe, train

    run = tmp_path_factory.mktemp("runs") / "tiny"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRANSDUCE_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
        train(load_recipe(str(write_recipe(corpus))), run)
    return run


@pytest.fixture(scope="session")
def sure_model(tiny_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that CTranslate2 runs as PyTorch does."""
    from biased_model import biased

    folder = tmp_path_factory.mktemp("sure") / "model"
    biased(tiny_run, -30).save(folder, [("The dog sleeps.", "Der Hund schläft.")])
    return folder


def write_recipe(folder: Path) -> Path:
    """Write the tiny settings beside the corpus."""
    import tomli_w

    data = {
        name: [f"{stem}.en", f"{stem}.de"]
        for name, stem in (("train", "train"), ("validation", "dev"), ("test", "test"))
    }
    path = folder / "tiny.toml"
    path.write_text(tomli_w.dumps({"data": {**data, "source": "en", "target": "de"}, **TINY}), encoding="utf-8")
    return path


# As root, as which continuous integration runs, Chromium starts without its sandbox only.
BROWSER_OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
BROWSER_OPTIONS += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, without a window; tests skip where it or playwright is not installed."""
    playwright = pytest.importorskip("playwright.sync_api")
    program = shutil.which("chromium", path="/usr/bin") or shutil.which("chromium")
    if not program:
        pytest.skip("Chromium is not installed")
    with playwright.sync_playwright() as running:
        opened = running.chromium.launch(executable_path=program, args=BROWSER_OPTIONS)
        yield opened
        opened.close()


@pytest.fixture
def file_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    """A server beside an empty cache and no folder of data, whose clients do not pause between attempts."""
    from transduce.corpora.catalogue import download

    server = FileServer(tmp_path / "served")
    server.folder.mkdir()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            server.answer(self)

        def log_message(self, *_: object) -> None: ...

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        server.address = f"http://127.0.0.1:{running.server_address[1]}"
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        monkeypatch.setenv("TRANSDUCE_CACHE", str(tmp_path / "cache"))
        monkeypatch.delenv("TRANSDUCE_DATA", raising=False)
        monkeypatch.setattr(download, "PAUSE", 0)
        yield server
        running.shutdown()
        thread.join()
