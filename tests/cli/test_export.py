"""`transduce export`, and the verbs that take what it writes."""

import json
from collections.abc import Callable
from pathlib import Path

Command = Callable[..., tuple[int, str, str]]


def test_an_exported_model_translates_evaluates_and_has_a_description(
    transduce: Command, tiny_run: Path, corpus: Path, tmp_path: Path
) -> None:
    folder, source, reference = tmp_path / "exported", corpus / "test.en", corpus / "test.de"
    status, output, _ = transduce("export", tiny_run, "--to", "ctranslate2", "-o", folder)
    assert status == 0
    assert "32 of 32 greedy outputs are the same" in output
    status, output, _ = transduce("export", tiny_run, "-o", tmp_path / "int8", "--quantization", "int8", "--json")
    assert (status, json.loads(output)["export"]["quantization"]) == (0, "int8")

    expected = transduce("translate", tiny_run, source, "--beam-size", 1)[1]
    assert transduce("translate", folder, source, "--beam-size", 1)[1] == expected
    assert transduce("translate", folder, source, "--beam-size", 1, "--engine", "ctranslate2")[1] == expected

    files = ("--source", source, "--reference", reference, "--beam-size", 1, "--json")
    scores = [json.loads(transduce("evaluate", model, *files)[1])["chrf"] for model in (tiny_run, folder)]
    assert scores[0] == scores[1]

    facts = json.loads(transduce("info", folder, "--json")[1])
    assert facts["export"]["parity"]["identical"] == 32
    assert transduce("info", folder)[0] == 0
