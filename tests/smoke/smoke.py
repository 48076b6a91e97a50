"""Smoke test of an installed Transduce: trains a tiny model, translates, scores, draws, exports and serves once.

It needs no pytest and nothing of the repository. Run it with the Python of the environment in which Transduce is
installed: `python tests/smoke/smoke.py`. What an extra brings is tried where it is installed; where the extra `train`
is missing, a model of an earlier call is translated with (`--model`), and the refusal must name the extra.
"""

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from importlib.util import find_spec
from pathlib import Path

NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"
"""The variable with which each command would compile all that it imports anew, which takes a minute or two."""
WORDS = {"red": "rot", "old": "alt", "new": "neu", "big": "groß", "young": "jung", "quiet": "still", "late": "spät"}
NAMES = {"house": "Haus", "child": "Kind", "book": "Buch", "boat": "Boot", "horse": "Pferd", "picture": "Bild"}
TINY = (
    "model.dim=32",
    "model.heads=2",
    "model.feed_forward_dim=64",
    "model.encoder_layers=1",
    "model.decoder_layers=1",
    "training.updates=60",
    "training.accumulate=1",
    "validation.every_updates=30",
)
RECIPE = """
[data]
train = ["train.en", "train.de"]
source = "en"
target = "de"
[tokenizer]
kind = "words"
shared = false
min_frequency = 1
[model]
kind = "transformer"
[optimizer]
learning_rate = 1e-2
"""


def pairs() -> list[tuple[str, str]]:
    """Returns sentence pairs that even a tiny model learns a little of."""
    return [
        (f"The {name} is {word} and {other}.", f"Das {NAMES[name]} ist {WORDS[word]} und {WORDS[other]}.")
        for name in NAMES
        for word in WORDS
        for other in WORDS
    ]


class Smoke:
    """The commands, run one after the other in a folder, each with the seconds it took."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        variables = {"PYTHONSAFEPATH": "1", "TRANSDUCE_CACHE": str(folder / "cache"), "OMP_NUM_THREADS": "1"}
        others = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", NO_BYTECODE)}
        self.environment = others | variables

    def run(self, *arguments: str, input: str | None = None, status: int = 0) -> str:
        """Runs `transduce`, and returns its output; its standard error instead, if it is to fail."""
        started = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "transduce", *arguments],
            cwd=self.folder,
            env=self.environment,
            input=input,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        print(f"{time.perf_counter() - started:6.1f} s  transduce {' '.join(arguments)[:90]}", flush=True)
        if done.returncode != status:
            raise SystemExit(f"exit status {done.returncode} in place of {status}:\n{done.stdout}\n{done.stderr}")
        return done.stdout if status == 0 else done.stderr

    def train(self) -> str:
        """Trains a tiny model of two files; returns its folder."""
        sources, targets = zip(*pairs(), strict=True)
        for language, lines in (("en", sources), ("de", targets)):
            (self.folder / f"train.{language}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        (self.folder / "tiny.toml").write_text(RECIPE, encoding="utf-8")
        self.run("train", "tiny.toml", *TINY, "--out", "run", "--quiet")
        expect((self.folder / "run/curves.png").is_file(), "a picture of the training")
        expect(any((self.folder / "run/tensorboard").iterdir()), "TensorBoard's log")
        return "run"

    def score(self, model: str) -> None:
        """Scores the model, and draws what it does with a sentence."""
        (self.folder / "test.en").write_text("The house is red and old.\n", encoding="utf-8")
        (self.folder / "test.de").write_text("Das Haus ist rot und alt.\n", encoding="utf-8")
        files = ("--source", "test.en", "--reference", "test.de")
        scores = json.loads(self.run("evaluate", model, *files, "--json"))
        expect("signature" in scores["bleu"], "BLEU with its signature")
        for file, beginning in (("look.png", b"\x89png"), ("look.html", b"<!doctype html>")):
            self.run("look", model, "The house is red and old.", "-o", file)
            expect((self.folder / file).read_bytes().lower().startswith(beginning), f"attention in {file}")

    def serve(self, model: str) -> None:
        """Starts a server, translates by its API of LibreTranslate, and ends it."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        started = time.perf_counter()
        server = subprocess.Popen(
            [sys.executable, "-m", "transduce", "serve", model, "--port", str(port)],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
        )
        try:
            while not answers(port):
                if server.poll() is not None or time.perf_counter() - started > 120:
                    raise SystemExit(f"the server did not start:\n{server.communicate()[1]}")
                time.sleep(0.2)
            body = json.dumps({"q": "The house is red and old.", "source": "en", "target": "de"}).encode()
            request = urllib.request.Request(
                f"http://127.0.0.1:{port}/translate", body, {"Content-Type": "application/json"}
            )
            with urllib.request.urlopen(request, timeout=60) as answer:
                expect(bool(json.load(answer)["translatedText"]), "a translation from the server")
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=60) as answer:
                expect(b"<title>" in answer.read(), "the server's page")
        finally:
            server.terminate()
            server.communicate(timeout=60)
        print(f"{time.perf_counter() - started:6.1f} s  transduce serve {model}", flush=True)


def answers(port: int) -> bool:
    """Returns True if a server answers on a port of this machine."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=4):
            return True
    except OSError:
        return False


def expect(is_so: bool, wanted: str) -> None:
    """Ends the test if something is missing."""
    if not is_so:
        raise SystemExit(f"missing: {wanted}")


def check_installation() -> None:
    """Checks that the package is an installed one, with its recipes, pages, tables, types and licence."""
    import transduce

    package = Path(str(transduce.__file__)).parent
    expect("site-packages" in package.parts, f"an installed package in place of {package}")
    for file in ("py.typed", "recipes/quickstart.toml", "analysis/pages", "serving/pages", "documents/refused.tsv"):
        expect((package / file).exists(), file)
    from importlib.metadata import files, version

    expect(version("transduce") == transduce.__version__, "one version")
    expect(any(file.name == "LICENSE" for file in files("transduce") or []), "the licence")


def main() -> None:
    """Runs the smoke test."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", type=Path, help="a model's folder to use in place of a newly trained one")
    parser.add_argument("--keep", type=Path, help="a new folder for a copy of the trained model")
    options = parser.parse_args()
    model = options.model and str(options.model.absolute())
    started = time.perf_counter()
    check_installation()
    with tempfile.TemporaryDirectory(prefix="transduce-smoke-", ignore_cleanup_errors=True) as folder:
        smoke = Smoke(Path(folder))
        expect("transduce" in smoke.run("--version"), "a version")
        expect("translate" in smoke.run("--help"), "help")
        expect("quickstart" in smoke.run("recipes"), "recipes")
        if find_spec("matplotlib"):
            model = model or smoke.train()
            smoke.score(model)
            if options.keep is not None:
                shutil.copytree(smoke.folder / model / "model", options.keep)
        else:
            refused = smoke.run("train", "quickstart", status=2)
            expect(refused.count("\n") == 1 and "pip install 'transduce[train]'" in refused, "the extra's name")
        if model is None:
            raise SystemExit("without the extra `train`, --model is needed")
        expect(bool(smoke.run("translate", model, input="The house is red and old.\n").strip()), "a translation")
        if find_spec("ctranslate2"):
            smoke.run("export", model, "--to", "ctranslate2", "-o", "exported")
            expect(bool(smoke.run("translate", "exported", input="The book is old and new.\n").strip()), "as exported")
        if find_spec("fastapi"):
            smoke.serve(model)
    print(f"passed in {time.perf_counter() - started:.0f} s with Python {sys.version.partition(' ')[0]}")


if __name__ == "__main__":
    main()
