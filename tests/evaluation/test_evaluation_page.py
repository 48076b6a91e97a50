"""The page of an evaluation says what a customer asks: how good, where it is worse, what to look at."""

import re
from dataclasses import replace

from transduce.evaluation.evaluate import evaluate_outputs
from transduce.evaluation.evaluation_page import render_evaluation
from transduce.evaluation.score_table import Scores, ScoreTable
from transduce.inference.quality.quality_estimate import QualityEstimate
from transduce.inference.translation import Translation

SOURCES = ["Der Hund sieht Anna am 12 Mai.", "Ein Haus <b>.", "Der alte Mann schläft heute in dem Haus von Tom."]
REFERENCES = ["The dog sees Anna on 12 May.", "A house <b>.", "The old man sleeps in the house of Tom today."]
OUTPUTS = ["The dog sees Otto on May 13.", "A house <b>.", "The old man sleeps in the house of Tom."]


def scored(sources: list[str] | None = SOURCES) -> Scores:
    return evaluate_outputs(OUTPUTS, REFERENCES, sources=sources)


def tables(page: str) -> dict[str, list[list[str]]]:
    """The rows of each section's table, by its heading."""
    found = {}
    for heading, content in re.findall(r"<h2[^>]*>(.*?)</h2>(.*?)</section>", page, re.DOTALL):
        rows = re.findall(r"<tr>(.*?)</tr>", content, re.DOTALL)
        found[heading] = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in rows[1:]]
    return found


def test_a_page_has_scores_parts_what_must_stay_and_sentences_in_order() -> None:
    scores = scored()
    page = render_evaluation("mine", scores, training=["the house the house the house"])
    found = tables(page)
    bleu = found["Scores"][0]
    assert bleu[:2] == ["BLEU", f"{scores.bleu.score:.2f}"] and "tok:13a" in bleu[3]
    assert [row[:2] for row in found["By length"]] == [["1 to 10", "3"]]
    assert ["1 to 5", "3"] in [row[:2] for row in found["By rarity"]]  # the, house, house
    assert found["What must stay"] == [
        ["numbers in digits", "1", "0", "100"],
        ["names that the reference keeps", "2", "50", "100"],
    ]
    worst, best = found["The worst sentences"], found["The best sentences"]
    assert worst == best[::-1] and [row[1] for row in best] == ["Ein Haus &lt;b&gt;.", SOURCES[2], SOURCES[0]]
    assert best[0][0] == "100" and "<script" not in page


def test_without_sources_a_page_has_what_can_be_said() -> None:
    found = tables(render_evaluation("mine", scored(None)))
    assert list(found) == ["Scores", "The worst sentences", "The best sentences"]
    assert len(found["The worst sentences"][0]) == 3


def test_a_page_has_each_way_of_typing() -> None:
    typed = ScoreTable("ways", {"as written": scored(), "capitals": scored()})
    rows = tables(render_evaluation("mine", scored(), typed))["As others type it"]
    assert [row[0] for row in rows] == ["as written", "capitals"] and rows[0][1:] == rows[1][1:]


def test_a_page_tells_how_sure_the_model_was_and_which_outputs_are_in_another_language() -> None:
    scores = evaluate_outputs([REFERENCES[0], REFERENCES[1], SOURCES[2]], REFERENCES, sources=SOURCES)
    estimates = [QualityEstimate(0.1, 0.0, 0.2), QualityEstimate(None, reason="unlike"), QualityEstimate(0.9, 0.8, 1.0)]
    told = [Translation(text, [], quality=each) for text, each in zip(scores.outcome.outputs, estimates, strict=True)]
    page = render_evaluation("mine", replace(scores, translations=told))
    found = tables(page)
    assert found["How sure the model is"] == [["1", "10", "0", "100"], ["1", "90", "100", "100"]]
    assert "1 texts were too unlike" in page
    assert found["Other languages"] == [["German", "1"]]
