"""A model is found on the hub by its name: its needed files alone, resumed, verified; each failure is one line."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from gpt2_folder import write_gpt2
from hub_server import HubServer, running_hub
from transduce.apps.exchange.huggingface.hub import fetch_model
from transduce.apps.exchange.huggingface.import_huggingface import import_huggingface
from transduce.base.errors import CheckpointError, InputError
from transduce.bundle.model_bundle import ModelBundle

NAME = "ada/little-gpt2"
EXTRA = {"README.md": b"# Mine\n", "flax_model.msgpack": b"x" * 5000, "onnx/model.onnx": b"x" * 5000}


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a GPT-2."""
    folder = tmp_path_factory.mktemp("theirs") / "gpt2"
    write_gpt2(folder)
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


@pytest.fixture
def hub(content: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """A hub with one model, and an empty cache."""
    constants = pytest.importorskip("huggingface_hub.constants")
    with running_hub() as server:
        server.models[NAME] = content | EXTRA
        monkeypatch.setenv("HF_ENDPOINT", server.address)
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.setenv(name, "127.0.0.1,localhost")
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
        monkeypatch.delenv("HF_TOKEN", raising=False)
        yield server


def asked(hub: HubServer) -> set[str]:
    return {path.rpartition("/")[2] for _, path, _ in hub.requests if "/resolve/" in path}


def test_a_model_is_imported_by_its_name_with_what_it_needs_alone(
    hub: HubServer, content: dict[str, bytes], tmp_path: Path
) -> None:
    told: list[str] = []
    import_huggingface(Path(NAME), tmp_path / "model", tell=told.append)
    (line,) = told
    size = sum(map(len, content.values())) / 2**20
    assert line == f"{NAME} at {'a' * 12}: licence cc-by-4.0, {len(content)} files, {size:,.1f} MB"
    assert asked(hub) == set(content)
    imported = ModelBundle.load(tmp_path / "model").history["imported"]
    assert {name: imported[name] for name in ("hub", "revision", "licence")} == {
        "hub": NAME,
        "revision": "a" * 40,
        "licence": "cc-by-4.0",
    }
    before = len(hub.requests)
    import_huggingface(Path(NAME), tmp_path / "again", revision="v1")
    assert not any("/store/" in path for _, path, _ in hub.requests[before:])  # the cache has them


def test_what_was_cut_off_is_continued(
    hub: HubServer, content: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pytest.importorskip("huggingface_hub.constants"), "DOWNLOAD_CHUNK_SIZE", 256)
    hub.drops = [700, 900]
    folder, _ = fetch_model(NAME)
    assert (folder / "model.safetensors").read_bytes() == content["model.safetensors"]
    assert any(range_ not in (None, "bytes=0-") for _, path, range_ in hub.requests if "/store/" in path)


def test_a_file_that_is_not_what_the_hub_lists_is_refused(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    good = hub._lfs
    monkeypatch.setattr(hub, "_lfs", lambda content: good(content) | {"sha256": "0" * 64})
    with pytest.raises(CheckpointError, match="SHA-256 differs"):
        fetch_model(NAME)


def test_safetensors_come_before_pickles_and_a_pickle_will_do(
    hub: HubServer, content: dict[str, bytes], tmp_path: Path
) -> None:
    (tmp_path / "weights").write_bytes(content["model.safetensors"])
    torch.save(load_file(tmp_path / "weights"), tmp_path / "pickle")
    hub.models[NAME]["pytorch_model.bin"] = (tmp_path / "pickle").read_bytes()
    fetch_model(NAME)
    assert "pytorch_model.bin" not in asked(hub)
    del hub.models[NAME]["model.safetensors"]
    hub.revisions["main"] = "b" * 40
    told: list[str] = []
    import_huggingface(Path(NAME), tmp_path / "model", tell=told.append)
    assert "only tensors were read" in told[1]


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (lambda hub: hub.models.clear(), "no such folder here, and no such model on the hub"),
        (lambda hub: hub.gated.add(NAME), "it is gated: accept its terms at .*/ada/little-gpt2, and log in"),
        (lambda hub: hub.revisions.clear(), "it has no revision 'v1'"),
        (lambda hub: setattr(hub, "status", 500), "answered 500"),
        (lambda hub: hub.models.update({NAME: {"config.json": b"{}"}}), "has no weights on the hub"),
    ],
)  # fmt: skip
def test_what_the_hub_does_not_give_is_one_line(harm: Any, words: str, hub: HubServer, tmp_path: Path) -> None:
    harm(hub)
    with pytest.raises(InputError, match=words) as caught:
        import_huggingface(Path(NAME), tmp_path / "model", revision="v1")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "model").exists()


def test_a_model_of_an_unknown_family_is_refused_before_its_weights(hub: HubServer, content: dict[str, bytes]) -> None:
    tree = json.loads(content["config.json"]) | {"model_type": "llama"}
    hub.models[NAME]["config.json"] = json.dumps(tree).encode()
    with pytest.raises(InputError, match="model_type is 'llama'"):
        fetch_model(NAME)
    assert asked(hub) == {"config.json"}


def test_without_a_network_the_cache_will_do_if_it_is_asked_for(
    hub: HubServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    constants = pytest.importorskip("huggingface_hub.constants")
    folder, _ = fetch_model(NAME)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(InputError, match="cannot be reached") as caught:
        fetch_model(NAME)
    assert "\n" not in str(caught.value)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    told: list[str] = []
    assert fetch_model(NAME, tell=told.append)[0] == folder
    assert "HF_HUB_OFFLINE is set" in told[0]
    with pytest.raises(InputError, match="HF_HUB_OFFLINE is set, and the cache"):
        fetch_model("ada/other")
