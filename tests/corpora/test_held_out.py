"""Validation and test pairs are drawn in one pass, as plain filters would draw them."""

import pytest

from transduce.corpora.cleaning import Duplicates, Identical
from transduce.corpora.corpus import ParallelCorpus, SentencePair
from transduce.corpora.held_out import HeldOutPairs
from transduce.corpora.splitting import HELD_OUT, PartFilter, Split, SplitRule, default_share

COUNT = 4000


def corpora(passes):
    """Two corpora with repeated pairs and pairs that cleaning leaves out."""

    def corpus(name, numbers):
        def read():
            passes.append(name)
            return (SentencePair(f"s {n % 900}", f"s {n % 900}" if n % 7 == 0 else f"t {n % 1300}") for n in numbers)

        return ParallelCorpus(name, read, lambda: name).filtered([Identical(), Duplicates(of="pair")])

    return [corpus("first", range(COUNT)), corpus("second", range(COUNT, COUNT + 77))]


@pytest.mark.parametrize("kind", ["grouped", "random"])
@pytest.mark.parametrize("rule", ["both follow the number", "validation follows", "none follows", "no test"])
def test_parts_are_those_of_a_filter_and_found_in_one_pass(tmp_path, kind, rule):
    rule = {
        "both follow the number": SplitRule(Split(kind), HELD_OUT),
        "validation follows": SplitRule(Split(kind, test=0.2), ("validation",)),
        "none follows": SplitRule(Split(kind, 0.1, 0.02, seed=3)),
        "no test": SplitRule(Split(kind, test=0.0), ("validation",)),
    }[rule]
    passes = []
    drawn = HeldOutPairs(corpora(passes), rule, ["target", "source"], tmp_path)
    share = default_share(COUNT + 77)
    assert drawn.split == rule.of(COUNT + 77)
    assert all(getattr(drawn.split, name) == share for name in rule.follows_number)
    for number, (corpus, side) in enumerate(zip(corpora([]), ("target", "source"), strict=True)):
        for name in HELD_OUT:
            wanted = corpus.filtered([PartFilter(name, drawn.split, side)])
            part = drawn.part(number, name)
            assert list(part) == list(wanted)
            assert part.content() == wanted.content()
            assert list(part.reversed) == list(wanted.reversed)
            assert part.reversed.content() == wanted.reversed.content()
    assert passes == ["first", "second"]

    again = HeldOutPairs(corpora(passes), rule, ["target", "source"], tmp_path)
    assert list(again.part(0, "validation")) == list(drawn.part(0, "validation"))
    assert passes == ["first", "second"], "another run finds them in the cache"


def test_held_out_pairs_that_have_changed_in_the_cache_are_drawn_anew(tmp_path):
    passes = []
    whole = list(HeldOutPairs(corpora(passes), SplitRule(Split()), ["target"] * 2, tmp_path).part(0, "validation"))
    (file,) = tmp_path.glob("held-out/*/drawn/0.jsonl")
    file.write_bytes(file.read_bytes()[:-20])
    again = HeldOutPairs(corpora(passes), SplitRule(Split()), ["target"] * 2, tmp_path)
    assert list(again.part(0, "validation")) == whole
    assert passes == ["first", "second"] * 2


def test_a_part_that_is_filtered_further_is_read_whole_again(tmp_path):
    part = HeldOutPairs(corpora([]), SplitRule(Split()), ["target"] * 2, tmp_path).part(0, "validation")
    few = part.filtered([PartFilter("test", Split("random", 0.1, 0.5), "target")])
    assert 0 < len(list(few)) < len(list(part))
