"""The page of an examination: each fault of a corpus with examples side by side."""

from transduce.analysis.page import html_table, render_sections
from transduce.corpora.doctor.examination import Examination, Fault

COSTS = {
    "swapped": "the model writes in the wrong language",
    "misaligned": "the model says what the source does not",
    "copied": "the model copies its source: the fault that costs most (Khayrallah and Koehn 2018)",
    "source in another language": "some sources are noise; hardly any score is lost",
    "target in another language": "the model writes in that language",
    "source partial": "the model adds what the source does not say",
    "target partial": "the model leaves out parts of the source, and ends early",
    "source reordered": "little; a model learns to bear it",
    "target reordered": "translations are less fluent",
    "misread": "the model takes misread words for words, and writes them",
    "boilerplate": "the model writes it beside any source",
    "other numbers": "the model changes numbers",
    "other addresses": "the model changes addresses",
    "characters lost": "the model writes signs for lost characters",
    "repeated": "what is repeated weighs more than all else",
    "in the test data": "test scores are too high",
}
"""The harm to a model that learns from pairs with a fault, by the fault's name."""


def render_examination(name: str, found: Examination) -> str:
    """Returns the page of what was found in a corpus of a name."""
    faults = html_table(
        ["pairs", "found", "estimated to have it", "standard error", "good ones among those found", "if they are kept"],
        [[fault.reason, fault.found, *_estimate(fault), COSTS.get(kind)] for kind, fault in found.faults.items()],
    )
    repairs = [(kind, count) for kind, count in found.repairs.items()]
    moved = [
        (f"{file}: {shift}", shift.last - shift.first + 1) for file in found.shifts for shift in found.shifts[file]
    ]
    sections = [("Faults", f"{found.pairs:,} pairs, of which {found.left_out:,} are left out.", faults)]
    for title, text, rows in (
        ("Lines that were moved or joined", "Their translations stood beside other lines.", moved),
        ("Repairs", "What is certainly wrong was put right.", repairs),
        ("Personal data", "Pairs with it are kept; it can be masked.", list(found.personal.items())),
    ):
        if rows:
            sections.append((title, text, html_table(["of", "pairs"], rows)))
    sections += [_examples(fault) for fault in found.faults.values()]
    return render_sections(f"What is in {name}", f"{found.verdict[0].upper()}{found.verdict[1:]}", sections)


def _estimate(fault: Fault) -> tuple[int | None, ...]:
    return (None,) * 3 if fault.estimated is None else (fault.estimated, fault.error, fault.good)


def _examples(fault: Fault) -> tuple[str, str, str]:
    rows = [[pair.source, pair.target] for pair in fault.examples]
    return f"Pairs {fault.reason}", f"{fault.found:,} were found, such as:", html_table(["source", "target"], rows)
