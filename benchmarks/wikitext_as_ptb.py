"""Writes WikiText-2's test text in the way of the Penn Treebank.

Small letters, N for numbers, no punctuation, no headings, a sentence a line, and <unk> for words that the training text
of the Penn Treebank does not have.

    python benchmarks/wikitext_as_ptb.py -o wikitext.txt
    transduce evaluate runs/ptb-xl --reference wikitext.txt

It needs TRANSDUCE_DATA.
"""

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

from transduce.base.files import write_text
from transduce.corpora.splits import open_text

UNKNOWN, NUMBER = "<unk>", "N"
ENDS = frozenset(".?!;")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, default=Path("wikitext.txt"))
    options = parser.parse_args()
    known = {word for line in open_text("ptb", "train") for word in line.split()}
    sentences = [
        [word if word in known else UNKNOWN for word in sentence]
        for line in open_text("wikitext-2", "test")
        for sentence in _sentences(line)
    ]
    write_text(options.output, "".join(f" {' '.join(sentence)} \n" for sentence in sentences))
    words = [word for sentence in sentences for word in sentence]
    share = words.count(UNKNOWN) / len(words)
    print(f"{len(sentences):,} sentences, {len(words):,} words, {share:.1%} of them {UNKNOWN}: {options.output}")


def _sentences(line: str) -> Iterator[list[str]]:
    """The sentences of a line of WikiText, but for headings, as words of the Penn Treebank."""
    if line.strip().startswith("="):
        return
    text = re.sub(r" @([-.,])@ ", r"\1", line.lower())
    sentence: list[str] = []
    for token in text.split():
        if token in ENDS and sentence:
            yield sentence
            sentence = []
        elif token == UNKNOWN:
            sentence.append(UNKNOWN)
        elif re.fullmatch(r"[\d.,]*\d[\d.,]*", token):
            sentence.append(NUMBER)
        elif re.search(r"\w", token):
            sentence.append(token)
    if sentence:
        yield sentence


if __name__ == "__main__":
    main()
