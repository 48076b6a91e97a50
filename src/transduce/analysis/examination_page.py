"""The page of an examination: each fault of a corpus with examples side by side."""

from transduce.analysis.page import html_table, render_sections
from transduce.corpora.doctor.examination import Examination, Fault


def render_examination(name: str, found: Examination) -> str:
    """Returns the page of what was found in a corpus of a name."""
    rows = [
        [fault.reason, fault.found, fault.estimated, fault.good if fault.estimated is not None else None]
        for fault in found.faults.values()
    ]
    changes = [[f"wrong {kind}", count] for kind, count in found.repairs.items()]
    changes += [
        [f"moved in {name}: {shift}", shift.last - shift.first + 1]
        for name, shifts in found.shifts.items()
        for shift in shifts
    ]
    overview = html_table(["pairs", "found", "estimated to have it", "of the found, estimated to be good"], rows)
    sections = [("Faults", f"{found.pairs:,} pairs, of which {found.left_out:,} are left out.", overview)]
    if changes:
        sections.append(("Repairs", "What is certainly wrong was put right.", html_table(["repair", "pairs"], changes)))
    if found.personal:
        text = "Pairs with personal data; they are kept, and can be masked."
        sections.append(
            ("Personal data", text, html_table(["kind", "pairs"], [[*row] for row in found.personal.items()]))
        )
    sections += [_examples(fault) for fault in found.faults.values()]
    return render_sections("What is in these pairs", f"{name}: {found.verdict}", sections)


def _examples(fault: Fault) -> tuple[str, str, str]:
    rows = [[pair.source, pair.target] for pair in fault.examples]
    return f"Pairs {fault.reason}", f"{fault.found:,} were found, such as:", html_table(["source", "target"], rows)
