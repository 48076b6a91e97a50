"""Measures what a model makes of the sentences before: translations, dropped pronouns, and probabilities of references.

    TRANSDUCE_DATA=data python benchmarks/context.py runs/sentence runs/context

A row for each model, and for one that reads context also with none and with that of another document:

- BLEU of TVsub's test (1,154 lines, three references, lower-cased). The references are tokenised; outputs have a space
  put before each apostrophe as they have, and sacreBLEU tokenises both.
- BLEU of mZPRT's test (one reference, lower-cased).
- Dropped pronouns: of those marked in mZPRT's test, the share that is in the output. Of each kind (I, you, he, ...) a
  sentence of k dropped and m written ones is granted as many dropped ones as its output has beyond m, at most k. This
  is the accuracy of Xu et al. (2022) without an aligner, so that figures of others cannot be compared.
- CXMI (Fernandes et al. 2021): by how many bits a sentence the context makes mZPRT's references likelier.
- Seconds of one thread for TVsub's test, beam of 4.
"""

import argparse
import html
import os
import re
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import torch

from peers.corpora import read_lines
from peers.report import describe_machine, table
from transduce.bundle.model_bundle import ModelBundle
from transduce.corpora.context_settings import ContextConfig
from transduce.corpora.corpus import SentencePair
from transduce.corpora.formats import references_in
from transduce.evaluation.context_gain import context_gain
from transduce.evaluation.references import References
from transduce.evaluation.translations import score_bleu
from transduce.inference.request import Request, in_context
from transduce.inference.translator import Translator
from transduce.search.beam import Beam

KINDS = {
    "我": "i me my mine myself",
    "我们": "we us our ours ourselves",
    "你": "you your yours yourself yourselves",
    "他": "he him his himself",
    "她": "she her hers herself",
    "它": "it its itself",
    "他们": "they them their theirs themselves",
}
"""English pronouns of each Chinese one, by its root."""
ALIKE = {"你们": "你", "您": "你", "咱们": "我们", "俺": "我", "她们": "他们", "它们": "他们", "这": "它", "那": "它"}
MARKED = re.compile(r"<([^<>]*)>_\w++")
PRONOUN = re.compile("|".join(sorted([*KINDS, *ALIKE], key=len, reverse=True)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--lines", type=int, help="lines of each test set, to try it out")
    options = parser.parse_args()
    torch.set_num_threads(1)
    data = Path(os.environ["TRANSDUCE_DATA"])
    tvsub = [SentencePair(line, "") for line in read_lines(data / "tvsub" / "test.zh.gz")][: options.lines]
    lists = references_in(data / "tvsub" / "test_trg.sgm.gz")
    references = References.aligned(*(list(map(str.lower, each))[: len(tvsub)] for each in lists))
    marked = read_documents(data / "mzprt")[: options.lines]
    marked_plain, targets = [plain(pair) for pair in marked], [pair.target for pair in marked]
    rows = [["model", "context", "BLEU, TVsub", "BLEU, mZPRT", "dropped pronouns", "CXMI, bits", "seconds"]]
    for run in options.runs:
        bundle = ModelBundle.load(run)
        translator = Translator(bundle)
        context = bundle.config.context
        gain = context and context_gain(bundle, given(marked_plain, context, "its own"), targets)
        bits_of = {"its own": gain.bits, "another document's": gain.bits_of_others} if gain else {}
        for kind in ("its own",) if context is None else ("its own", "none", "another document's"):
            began = time.monotonic()
            outputs = translate(translator, given(tvsub, context, kind))
            seconds = time.monotonic() - began
            written = [re.sub("['\u2019]", " '", html.unescape(output).lower()) for output in outputs]
            bleu = score_bleu(written, references, lowercase=True).score
            requests = given(marked_plain, context, kind)
            of_marked = translate(translator, requests)
            other = score_bleu(of_marked, targets, lowercase=True).score
            pronouns = kept_pronouns([pair.source for pair in marked], of_marked)
            bits = bits_of.get(kind, 0.0)
            row = [run.name, "" if context is None else kind, f"{bleu:.1f}", f"{other:.1f}", f"{pronouns:.1%}"]
            rows.append([*row, f"{bits:.3f}", f"{seconds:.0f}"])
            print(rows[-1], flush=True)
    print(describe_machine(1), table(rows), sep="\n\n")


def read_documents(folder: Path) -> list[SentencePair]:
    """The test pairs with the marks of dropped pronouns, numbered by their documents."""
    pairs, document = [], 0
    sides = (read_lines(folder / f"Movie_Subtitle_test.{language}.gz") for language in ("zh", "en"))
    for source, target in zip(*sides, strict=True):
        document += source == "[doc]"
        if source != "[doc]":
            pairs.append(SentencePair(source, target, str(document)))
    return pairs


def plain(pair: SentencePair) -> SentencePair:
    """The pair as it was written, without the pronouns that were dropped."""
    return SentencePair(MARKED.sub("", pair.source), pair.target, pair.document)


def given(pairs: Sequence[SentencePair], context: ContextConfig | None, kind: str) -> list[Request]:
    """The sources with context of a kind; that of another document is what stands half the corpus away."""
    requests = in_context(pairs, context)
    if kind == "its own":
        return requests
    half = len(requests) // 2
    others = [*requests[half:], *requests[:half]]
    both = zip(requests, others, strict=True)
    return [Request(request.text, before=() if kind == "none" else other.before) for request, other in both]


def translate(translator: Translator, requests: Sequence[Request]) -> list[str]:
    """The translations of a beam of 4."""
    return [translation.text for translation in translator.translate(requests, Beam(size=4))]


def kept_pronouns(sources: Sequence[str], outputs: Sequence[str]) -> float:
    """The share of dropped pronouns that are in the outputs."""
    dropped = granted = 0
    for source, output in zip(sources, outputs, strict=True):
        missing = roots(" ".join(MARKED.findall(source)))
        written = roots(MARKED.sub("", source))
        words = Counter(re.findall("[a-z]+", output.lower()))
        for kind, count in missing.items():
            found = sum(words[word] for word in KINDS[kind].split())
            dropped += count
            granted += min(max(found - written[kind], 0), count)
    return granted / max(dropped, 1)


def roots(text: str) -> Counter[str]:
    """The number of pronouns of each kind in a Chinese text."""
    return Counter(ALIKE.get(pronoun, pronoun) for pronoun in PRONOUN.findall(text))


if __name__ == "__main__":
    main()
