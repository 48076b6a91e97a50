"""Choosing how to clean a corpus from a sample of its pairs."""

from collections.abc import Sequence

from docsegments.orthography.words import count_words
from transduce.corpora.corpus import SentencePair
from transduce.corpora.facts import CorpusFacts
from transduce.experiment.automatic_settings import Choice, Tables

RATIOS = (3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0)
MAX_LEFT_OUT = 0.1  # by the ratio; where it would be more, these languages do not count words alike


def choose_cleaning(sample: Sequence[SentencePair], facts: CorpusFacts, are_in_context: bool = False) -> Choice:
    """Chooses cleaning steps against the pairs in most files whose sides do not translate each other; duplicates stay
    where pairs are read in context, since others follow them."""
    longest = max(40, round(3 * max(facts.source.usual_length, facts.target.usual_length)))
    length: Tables = {"kind": "length"}
    steps, data, criteria = [length, {"kind": "identical"}], {}, ["a blank side", "equal sides"]
    for side, scripts in (("source", facts.source.scripts), ("target", facts.target.scripts)):
        if scripts:
            steps.append({"kind": "script", "side": side, "scripts": list(scripts)})
            criteria.append(f"a {side} not in {' or '.join(scripts)} script")
    if facts.source.has_spaces and facts.target.has_spaces:
        length["max_words"] = longest
        criteria.append(f"more than {longest} words")
    else:
        data["max_tokens"] = 2 * longest
        criteria.append(f"more than {2 * longest} subwords")
    if (ratio := _choose_ratio(sample)) is not None:
        steps.append({"kind": "ratio", "most": ratio})
        criteria.append(f"{ratio:g} times the words on a side")
    if not are_in_context:
        steps.append({"kind": "duplicates"})
    removed = "pairs" if are_in_context else "duplicates and pairs"
    reason = f"cleaning: removed are {removed} with {', '.join(criteria)}"
    return Choice({"data": {"cleaning": steps, **data}}, [reason])


def _choose_ratio(sample: Sequence[SentencePair]) -> float | None:
    lengths = [sorted((count_words(pair.source), count_words(pair.target))) for pair in sample]
    ratios = [longer / shorter for shorter, longer in lengths if shorter]
    for most in RATIOS:
        if sum(ratio > most for ratio in ratios) <= MAX_LEFT_OUT * len(ratios):
            return most
    return None
