"""Compares an imported M2M100 and an NLLB of random weights with transformers: ids of 10,000 real lines and odd
Unicode, logits, greedy and beam outputs, and whether they come back bit for bit.

Run: python benchmarks/m2m100_check.py [m2m100|nllb]; it needs TRANSDUCE_DATA, and sentencepiece from the dev extra.
"""

import gzip
import itertools
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

REAL = {
    "d_model": 1024,
    "encoder_layers": 12,
    "decoder_layers": 12,
    "encoder_attention_heads": 16,
    "decoder_attention_heads": 16,
    "encoder_ffn_dim": 4096,
    "decoder_ffn_dim": 4096,
    "max_position_embeddings": 1024,
}
LINES, TRAINED_ON, TRANSLATED, AT_ONCE = 10_000, 20_000, 200, 20
VOCABULARY = 16_000
ODD = [
    "",
    "</s> a<pad>b <unk> c",
    "__de__ x __fr__ deu_Latn y <mask> z",
    "e\u0301 é ﬁ ½ ① Ａ ｶﾞ ㌔ \u00a0x\u3000y\u200bz",
    "🙂👍🏽 👩‍👩‍👧 北京 здравствуйте ꙮ𒀱",
    "\ufffd \x07 tab\tline",
    "▁ ▁▁x  two   three    ",
]


def _lines(data: Path) -> list[str]:
    """German, French and Japanese, in turns, so that a part of them holds all three."""
    files = [next((data / f"tatoeba-eng-{code}").glob("*.txt.gz")) for code in ("deu", "fra")]
    columns: list[list[str]] = []
    for file in files:
        with gzip.open(file, "rt", encoding="utf-8") as opened:
            columns.append([line.rstrip("\n").split("\t")[1] for line in itertools.islice(opened, 0, None, 3)])
    with gzip.open(data / "tanaka-en-ja/train.ja.gz", "rt", encoding="utf-8") as opened:
        columns.append([line.rstrip("\n") for line in opened])
    turns = itertools.chain.from_iterable(zip(*columns, strict=False))
    return list(itertools.islice(turns, TRAINED_ON + LINES))


def _check(name: str, lines: list[str], place: Path) -> None:
    import sentencepiece
    import transformers

    from m2m100_folder import write_m2m100, write_nllb
    from transduce.apps.exchange.huggingface.export_huggingface import export_huggingface
    from transduce.apps.exchange.huggingface.import_huggingface import import_huggingface
    from transduce.bundle.model_bundle import ModelBundle

    write, kind = (write_m2m100, "M2M100Tokenizer") if name == "m2m100" else (write_nllb, "NllbTokenizer")
    theirs: Any = write(
        transformers, sentencepiece, place / name, lines[:TRAINED_ON], size=VOCABULARY, std=0.04, **REAL
    )
    certificate = import_huggingface(place / name, place / f"{name}-model")
    print(name, certificate.describe(), flush=True)
    bundle = ModelBundle.load(place / f"{name}-model")
    tokenizer = getattr(transformers, kind).from_pretrained(place / name)
    texts = lines[TRAINED_ON:] + ODD
    expected = tokenizer(texts, add_special_tokens=False)["input_ids"]
    found = bundle.tokenizers.source.encode_batch(texts)
    wrong = [i for i, (a, b) in enumerate(zip(expected, found, strict=True)) if a != b]
    print(f"{name}: {len(wrong)} of {len(texts)} lines have other ids", flush=True)
    for i in wrong[:6]:
        pieces = tokenizer.convert_ids_to_tokens(expected[i]), bundle.tokenizers.source.pieces(found[i])
        print("  ", repr(texts[i]), *pieces)
    source, target = ("de", "fr") if name == "m2m100" else ("deu_Latn", "fra_Latn")
    for size in (1, 4):
        same = _same_outputs(theirs, tokenizer, bundle, [source, target], size, lines[TRAINED_ON:][:TRANSLATED])
        print(f"{name} beam {size}: {same} of {TRANSLATED} outputs are the same", flush=True)
    export_huggingface(place / f"{name}-model", place / f"{name}-again")
    print(f"{name} went back: weights, ids and logits are equal bit for bit", flush=True)


def _same_outputs(theirs: Any, tokenizer: Any, bundle: Any, languages: list[str], size: int, lines: list[str]) -> int:
    """Without normalisation for length, since transformers counts the token of the language as one of the output."""
    from transduce.inference.constraints import Constraints
    from transduce.inference.engines.pytorch import PyTorchEngine
    from transduce.inference.request import Request
    from transduce.search.beam import Beam

    beam = Beam(size=size, length_penalty=0.0, max_ratio=0, max_extra=39)
    ours = bundle.tokenizers.target
    directed = bundle.directed(bundle.config.find_direction(languages[1], languages[0]))
    constraints = Constraints(ours)
    sources = directed.read(lines)
    pieces = [piece for source in sources for piece in constraints.pieces(Request(""), [source], directed.marks.begin)]
    never = [ours.pad, ours.bos, ours.unknown, *ours.marks.values()]
    tokenizer.src_lang = languages[0]
    same = 0
    for start in range(0, len(lines), AT_ONCE):
        outputs = [
            found[0].tokens for found in PyTorchEngine(bundle).search(pieces[start:][:AT_ONCE], constraints, beam)
        ]
        with torch.inference_mode():
            rows = theirs.generate(
                **tokenizer(lines[start : start + AT_ONCE], return_tensors="pt", padding=True),
                forced_bos_token_id=directed.marks.begin,
                num_beams=size,
                max_length=41,
                length_penalty=0.0,
                do_sample=False,
                early_stopping=size > 1,
                forced_eos_token_id=ours.eos,
                bad_words_ids=[[token] for token in never],
            )
        for row, mine in zip(rows.tolist(), outputs, strict=True):
            end = row.index(ours.eos, 2) if ours.eos in row[2:] else len(row)
            same += row[2:end] == mine
            if row[2:end] != mine:
                print("  theirs", row[2:end], "ours", mine)
    return same


if __name__ == "__main__":
    torch.set_num_threads(1)
    data = _lines(Path(os.environ["TRANSDUCE_DATA"]))
    with tempfile.TemporaryDirectory() as folder:
        for name in sys.argv[1:] or ("m2m100", "nllb"):
            _check(name, data, Path(folder))
