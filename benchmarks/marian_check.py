"""Compares an imported MarianMT of OPUS-MT's size and random weights with transformers: ids of 10,000 real lines and
odd Unicode, logits, greedy and beam outputs.

Random weights say a token again and again, up to the longest output, where transformers forces an end that costs
nothing, and we one that costs what the model says. So no token may come twice, and the end is likelier than others.

Run: python benchmarks/marian_check.py [deu|fra|jpn]; it needs TRANSDUCE_DATA, and sentencepiece from the dev extra.
"""

import gzip
import itertools
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

REAL = {
    "d_model": 512,
    "encoder_layers": 6,
    "decoder_layers": 6,
    "encoder_attention_heads": 8,
    "decoder_attention_heads": 8,
    "encoder_ffn_dim": 2048,
    "decoder_ffn_dim": 2048,
    "max_position_embeddings": 512,
}
LINES, TRAINED_ON, TRANSLATED, LONGEST = 10_000, 20_000, 200, 100
END = 5.0  # added to its logits
ODD = [
    "",
    "</s> a<pad>b <unk> c",
    "e\u0301 é ﬁ ½ ① Ａ ｶﾞ ㌔ \u00a0x\u3000y\u200bz",
    "🙂👍🏽 👩‍👩‍👧 北京 здравствуйте ꙮ𒀱",
    "a\u0301\u0327\u0308 o\u0308\u0304 \u1e69 s\u0323\u0307 \u0344",
    "\ufdd0x \ufdd1 \ufffe \ufffd \x07\x00 tab\tline",
    "각 각 ก็ำ नि क्षि \u0915\u093c",
    "▁ ▁▁x  two   three    ",
]


def _pairs(data: Path) -> dict[str, Iterator[tuple[str, str]]]:
    def columns(path: Path) -> Iterator[tuple[str, str]]:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            for line in file:
                english, other, *_ = line.rstrip("\n").split("\t")
                yield other, english

    def aligned(first: Path, second: Path) -> Iterator[tuple[str, str]]:
        with gzip.open(first, "rt", encoding="utf-8") as one, gzip.open(second, "rt", encoding="utf-8") as two:
            yield from ((a.rstrip("\n"), b.rstrip("\n")) for a, b in zip(one, two, strict=True))

    tatoeba = {code: next((data / f"tatoeba-eng-{code}").glob("*.txt.gz")) for code in ("deu", "fra")}
    found = {code: columns(path) for code, path in tatoeba.items() if path.name != "ABOUT.txt"}
    return found | {"jpn": aligned(data / "tanaka-en-ja/train.ja.gz", data / "tanaka-en-ja/train.en.gz")}


def _check(name: str, pairs: Iterator[tuple[str, str]], place: Path) -> None:
    import sentencepiece
    import transformers

    from marian_folder import write_marian
    from transduce.apps.exchange.huggingface.import_huggingface import import_huggingface
    from transduce.bundle.model_bundle import ModelBundle
    from transduce.inference.constraints import Constraints
    from transduce.inference.engines.pytorch import PyTorchEngine
    from transduce.inference.request import Request
    from transduce.search.beam import Beam

    stride = 1 if name == "jpn" else 3  # the other files are sorted by length
    spaced = list(itertools.islice(itertools.islice(pairs, 0, None, stride), TRAINED_ON + LINES))
    sides = [[pair[side] for pair in spaced[:TRAINED_ON]] for side in (0, 1)]
    theirs: Any = write_marian(
        transformers, sentencepiece, place / name, sides, size=8000, drop=40, std=0.04, end=END, **REAL
    )
    certificate = import_huggingface(place / name, place / f"{name}-model")
    print(name, certificate.describe(), flush=True)
    bundle = ModelBundle.load(place / f"{name}-model")
    tokenizer = transformers.MarianTokenizer.from_pretrained(place / name)
    for side, ours in enumerate((bundle.tokenizers.source, bundle.tokenizers.target)):
        texts = [pair[side] for pair in spaced[TRAINED_ON:]] + ODD + [pair[1 - side] for pair in spaced[-500:]]
        expected = tokenizer(**{("text", "text_target")[side]: texts}, add_special_tokens=False)["input_ids"]
        found = ours.encode_batch(texts)
        wrong = [i for i, (a, b) in enumerate(zip(expected, found, strict=True)) if a != b]
        print(f"{name} side {side}: {len(wrong)} of {len(texts)} lines have other ids", flush=True)
        for i in wrong[:6]:
            print("  ", repr(texts[i]), tokenizer.convert_ids_to_tokens(expected[i]), ours.pieces(found[i]))
    engine, lines = PyTorchEngine(bundle), [pair[0].strip() for pair in spaced[TRAINED_ON : TRAINED_ON + TRANSLATED]]
    for size in (1, 4):
        beam = Beam(
            size=size, length_penalty=1.0, normalization="power", max_ratio=0, max_extra=LONGEST - 1, no_repeat_ngram=1
        )
        requests = [(Request(line), [bundle.tokenizers.source.encode(line)]) for line in lines]
        constraints = Constraints(bundle.tokenizers.target)
        pieces = [piece for request, ids in requests for piece in constraints.pieces(request, ids)]
        outputs = [found[0].tokens for found in engine.search(pieces, constraints, beam)]
        same = forced = 0
        for start in range(0, len(lines), 20):
            batch = tokenizer(lines[start : start + 20], return_tensors="pt", padding=True)
            with torch.inference_mode():
                rows = theirs.generate(
                    **batch,
                    num_beams=size,
                    max_length=LONGEST,
                    no_repeat_ngram_size=1,
                    length_penalty=1.0,
                    do_sample=False,
                    early_stopping=size > 1,
                    bad_words_ids=[[theirs.config.pad_token_id], [tokenizer.unk_token_id]],
                )
            for row, mine in zip(rows.tolist(), outputs[start : start + 20], strict=True):
                row = row[1 : row.index(0, 1)] if 0 in row[1:] else row[1:]
                same += row == mine
                forced += len(row) == LONGEST - 2
                if row != mine:
                    print("  theirs", row, "ours", mine)
        print(
            f"{name} beam {size}: {same} of {len(lines)} outputs are the same, {forced} of the longest length",
            flush=True,
        )


if __name__ == "__main__":
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        for name, pairs in _pairs(Path(os.environ["TRANSDUCE_DATA"])).items():
            if not sys.argv[1:] or name in sys.argv[1:]:
                _check(name, pairs, Path(folder))
