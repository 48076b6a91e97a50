"""Measures glossary terms in inflected forms: entries whose form in a glossary differs from the reference's.

    python benchmarks/terms.py MODEL --sentences 500

An entry is a word of a sentence of Multi30k's validation or test set and the most frequent form of its translation that
the reference does not have; each sentence is translated with that entry alone. The first table has the first entries of
all, the second those that MODEL translates otherwise without a glossary. Inflected forms are learned from the training
set. MODEL translates English to German.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import sacrebleu

from docsegments.orthography.words import holds
from transduce.corpora.corpus import SentencePair
from transduce.corpora.splits import open_split
from transduce.inference.inflections import Inflections
from transduce.inference.request import Request
from transduce.inference.translator import Translator
from transduce.search.beam import Beam
from transduce.text.glossary import Entry, Glossary, Use

SPLITS = ("val", "test_2016_flickr")


@dataclass(frozen=True)
class Case:
    """A sentence with an entry, and the form that its reference has."""

    pair: SentencePair
    entry: Entry
    form: str

    def is_met(self, output: str) -> bool:
        """Returns True if an output has any form of the entry's target."""
        return any(holds(output, form) for form in (self.entry.target, *self.entry.target_forms))


def cases(inflections: Inflections, pairs: Iterator[SentencePair]) -> Iterator[Case]:
    """Yields sentences with each entry whose form in the glossary is not in the reference."""
    for pair in pairs:
        for _, source, target in inflections.links(pair):
            forms = [form for form in inflections.forms(source, target)[1] if not holds(pair.target, form)]
            if not forms or not target.isalpha() or forms[0].lower() == target.lower():
                continue
            sources, targets = inflections.forms(source, forms[0])
            if target in targets:
                yield Case(pair, Entry(source, forms[0], False, tuple(sources), tuple(targets)), target)


def request(case: Case, use: Use | None) -> Request:
    """Returns the request for a sentence with its entry in a use of glossaries; without it for none."""
    if use is None:
        return Request(case.pair.source)
    glossary, text = Glossary([case.entry], use=use), case.pair.source
    found = glossary.applying(text)
    return Request(text, required=found.required, terms=found.terms)


def measure(translator: Translator, chosen: Sequence[Case], use: Use | None) -> dict[str, float]:
    """Returns the shares of entries that translations have, in any form and in the reference's, and BLEU and chrF."""
    requests = [request(case, use) for case in chosen]
    outputs = [translation.text for translation in translator.translate(requests, Beam(size=5))]
    met = [case.is_met(output) for output, case in zip(outputs, chosen, strict=True)]
    as_reference = [holds(output, case.form) for output, case in zip(outputs, chosen, strict=True)]
    references = [[case.pair.target for case in chosen]]
    return {
        "in any form": 100 * sum(met) / len(met),
        "in the reference's": 100 * sum(as_reference) / len(met),
        "BLEU": sacrebleu.corpus_bleu(outputs, references).score,
        "chrF": sacrebleu.corpus_chrf(outputs, references).score,
    }


def main() -> None:
    """Prints a row for each model and use of the glossary."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("--sentences", type=int, default=500)
    parser.add_argument("--show", type=int, default=0, help="entries to show")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()
    inflections = Inflections.learn(open_split("multi30k", "train", "en", "de"))
    pairs = (pair for split in SPLITS for pair in open_split("multi30k", split, "en", "de"))
    every = list(cases(inflections, pairs))
    plain = Translator.load(arguments.model, device=arguments.device)
    outputs = plain.translate([case.pair.source for case in every], Beam(size=5))
    otherwise = [case for case, output in zip(every, outputs, strict=True) if not case.is_met(output.text)]
    systems: list[tuple[str, str, Use | None]] = [
        (arguments.model, "no glossary", None),
        (arguments.model, "exact", "exact"),
        (arguments.model, "inflected", "inflected"),
    ]
    for title, of in (("entries", every), ("entries that the model translates otherwise", otherwise)):
        chosen = of[: arguments.sentences]
        print(f"{len(chosen)} of {len(of)} {title}")
        for case in chosen[: arguments.show]:
            print(case.pair.source, "|", case.pair.target, "|", case.entry, "|", case.form)
        for path, name, use in systems:
            row = measure(Translator.load(path, device=arguments.device), chosen, use)
            figures = "".join(f"  {metric} {value:.1f}" for metric, value in row.items())
            print(json.dumps({"system": name} | row) if arguments.json else f"{name:40}{figures}", flush=True)


if __name__ == "__main__":
    main()
