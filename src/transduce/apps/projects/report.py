"""The page that shows what a project's adapter learned: gain, forgetting and cost, segment by segment."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO

import numpy as np

from docsegments.extras import check_installed
from transduce.analysis.page import Link, drawing, html_table, render_sections
from transduce.analysis.training_log import Curves, Series
from transduce.apps.projects.lessons import Check, Lesson
from transduce.apps.projects.project_store import ConfirmedSegment
from transduce.evaluation.edit_rate import ReliabilityBin, count_edits
from transduce.evaluation.metric import SentenceCounts
from transduce.evaluation.translations import count_chrf
from transduce.inference.quality.regression import COVERAGE

WITHOUT, WITH = "without adapter", "with adapter"
WINDOW = 50
"""Segments whose chrF is a point of the curve."""
MOST_POINTS = 300
SHOWN = 30
"""Segments in each table."""
SHOWN_EVENTS = 50
SURE = 2.0
"""Standard errors by which the mean gain must differ from zero to be called one."""
COUNTED = {"learned": "learned", "held out": "held out as checks", "left out": "left out, as too long"}


@dataclass(frozen=True)
class Course:
    """Segments of a project in their order, with a lesson for each, checks and events."""

    segments: Sequence[ConfirmedSegment]
    lessons: Sequence[Lesson]
    """A lesson for each segment."""
    checks: Sequence[Check]
    reliability: Sequence[ReliabilityBin] = ()
    """Past translations in the order of the estimates of their edits; none with too few."""

    @property
    def translated(self) -> list[tuple[int, ConfirmedSegment, Lesson]]:
        """Segments translated both without and with the adapter, each with its number in the order, from 1."""
        every = enumerate(zip(self.segments, self.lessons, strict=True), 1)
        return [(number, segment, lesson) for number, (segment, lesson) in every if lesson.static and lesson.adapted]


def render_report(name: str, course: Course) -> str:
    """Returns the page, which needs nothing from outside but links to look at translations."""
    if not course.lessons:
        text = "Nothing is learned yet: confirm segments, and come back in some seconds."
        return render_sections("Learning report", name, [("Nothing yet", text, ""), *_reliability(course)])
    sections = [
        ("In short", _verdict(course), _summary(course)),
        (
            "Gain, forgetting and cost",
            "Each segment is translated before it is learned, by the model alone and with the adapter of that moment; "
            "both are compared with what was confirmed. Words saved are edits that the second needed less (TER). "
            f"Below: chrF of {WINDOW} segments at a time, the loss on held-out segments, what is lost on general text, "
            "and the seconds that each segment took.",
            drawing(_figure(course), "Gain, forgetting and cost"),
        ),
        (
            "Where the adapter helped most, and least",
            "Translations of segments before each was learned, by the difference of their chrF. Both models can be "
            "looked at: attention, search and confidence for the same source.",
            _differences(course),
        ),
        (
            "Updates undone",
            "Groups of segments after which the model was worse than a bound allows: they were undone, or the whole "
            "adapter was made smaller.",
            _undone(course),
        ),
        *_reliability(course),
    ]
    return render_sections("Learning report", name, sections)


def _verdict(course: Course) -> str:
    """Returns whether learning has helped, and what to do."""
    translated = course.translated
    if not translated:
        return "Nothing can be said yet: go on confirming segments, a few more show whether learning helps."
    counts = _counts(translated)
    scores = f"chrF {counts[WITH].score:.1f} instead of {counts[WITHOUT].score:.1f}"
    rows = {name: of.score_rows(of.counts) for name, of in counts.items()}
    gains = rows[WITH] - rows[WITHOUT]
    error = SURE * gains.std() / len(gains) ** 0.5
    if gains.mean() > error:
        return f"Learning helps: new segments are translated nearer to what you confirm ({scores}); go on."
    if gains.mean() < -error:
        return (
            f"Learning makes new segments worse ({scores}): look at the confirmed translations below for mistakes and "
            "words that the model cannot write, give it general text, or switch learning off (general and enabled in "
            "project.toml)."
        )
    return f"Learning makes no clear difference yet ({scores}): go on confirming segments, more of them show more."


def _summary(course: Course) -> str:
    rows: list[tuple[str, str | float]] = [("segments", len(course.lessons))]
    kinds = [lesson.kind for lesson in course.lessons]
    rows += [(text, kinds.count(kind)) for kind, text in COUNTED.items() if kinds.count(kind)]
    rows.append(("of these undone", sum(lesson.is_undone for lesson in course.lessons)))
    translated = course.translated
    if translated:
        chrf, both = _counts(translated), [(lesson, segment.target) for _, segment, lesson in translated]
        without, words = map(sum, zip(*(count_edits(lesson.static, target) for lesson, target in both), strict=True))
        saved = without - sum(count_edits(lesson.adapted, target)[0] for lesson, target in both)
        rows += [
            (f"chrF {WITHOUT}", round(chrf[WITHOUT].score, 1)),
            (f"chrF {WITH}", round(chrf[WITH].score, 1)),
            ("words saved", f"{saved:,.0f} of {words:,.0f}"),
        ]
    if course.checks and (check := course.checks[-1]).held_out:
        rows.append(("loss on held-out segments, without and with", f"{check.static:.3f}, {check.held_out:.3f} nats"))
    kept = next((check for check in reversed(course.checks) if not check.undone), None)
    if kept is not None:
        rows.append(("lost on general text", f"{kept.general:+.3f} nats per token"))
    learned = [lesson.seconds for lesson in course.lessons if lesson.kind == "learned"]
    if learned:
        rows.append(("seconds a segment, median and most", f"{statistics.median(learned):.2f}, {max(learned):.2f}"))
    return html_table(("figure", "value"), rows)


def _counts(translated: Sequence[tuple[int, ConfirmedSegment, Lesson]]) -> dict[str, SentenceCounts]:
    references = [segment.target for _, segment, _ in translated]
    return {
        WITHOUT: count_chrf([lesson.static for _, _, lesson in translated], references),
        WITH: count_chrf([lesson.adapted for _, _, lesson in translated], references),
    }


def _figure(course: Course) -> str:
    translated = course.translated
    every = max(1, len(translated) // MOST_POINTS)
    curves = {WITHOUT: dict[str, Series](), WITH: dict[str, Series]()}
    counts = _counts(translated) if translated else {}
    for name, of in counts.items():
        ends = range(min(WINDOW, len(translated)), len(translated) + 1, every)
        x = [translated[end - 1][0] for end in ends]
        windows = [of.choose(np.arange(max(0, end - WINDOW), end)) for end in ends]
        curves[name]["chrF"] = Series(x, [window.score for window in windows])
    checks = [check for check in course.checks if check.held_out]
    positions = [check.position for check in checks]
    curves[WITHOUT]["held-out loss"] = Series(positions, [check.static for check in checks])
    curves[WITH]["held-out loss"] = Series(positions, [check.held_out for check in checks])
    kept = [check for check in course.checks if not check.undone]
    curves[WITH]["general loss"] = Series([check.position for check in kept], [check.general for check in kept])
    seconds = [lesson.seconds for lesson in course.lessons]
    places = list(range(1, len(seconds) + 1, max(1, len(seconds) // MOST_POINTS)))
    curves[WITH]["seconds"] = Series(places, [seconds[place - 1] for place in places])
    runs = [Curves(name, of) for name, of in curves.items()]
    svg = StringIO()
    kinds = ("chrF", "held-out loss", "general loss", "seconds")
    panels = [[kind] for kind in kinds if any(kind in of and of[kind].x for of in curves.values())]
    check_installed("train", "matplotlib")
    from transduce.analysis.figures import draw_learning

    draw_learning(runs, panels, "segments confirmed").savefig(svg, format="svg")
    text = svg.getvalue()
    return text[text.index("<svg") :]


def _looks(segment: ConfirmedSegment) -> tuple[Link, Link]:
    return Link(f"look/{segment.id}?adapted=false", WITHOUT), Link(f"look/{segment.id}", WITH)


def _differences(course: Course) -> str:
    translated = course.translated
    if not translated:
        return "<p>None yet.</p>"
    scores = {name: of.score_rows(of.counts) for name, of in _counts(translated).items()}
    order = np.argsort(scores[WITHOUT] - scores[WITH], kind="stable")
    most = [*order[: SHOWN // 2], *order[max(SHOWN // 2, len(order) - SHOWN // 2) :]]
    rows = [
        (
            translated[i][0],
            translated[i][1].source,
            translated[i][2].static,
            translated[i][2].adapted,
            translated[i][1].target,
            round(float(scores[WITH][i] - scores[WITHOUT][i]), 1),
            *_looks(translated[i][1]),
        )
        for i in most
    ]
    return html_table(("segment", "source", WITHOUT, WITH, "confirmed", "chrF", "look", "look"), rows)


def _undone(course: Course) -> str:
    rows = [
        (
            f"{check.first + 1} to {check.position}",
            check.undone or f"the adapter was made smaller, to {check.shrunk:.0%}",
        )
        for check in reversed(course.checks)
        if check.undone or check.shrunk < 1
    ]
    return html_table(("segments", "what was done"), rows[:SHOWN_EVENTS]) if rows else "<p>None.</p>"


def _reliability(course: Course) -> list[tuple[str, str, str]]:
    bins = course.reliability
    if not bins:
        return []
    count = sum(each.count for each in bins)
    covered = sum(each.count * each.covered for each in bins) / count
    text = (
        f"The {count:,} newest translations that were edited, in the order of the estimates that a fit without each of "
        f"them gives: {covered:.0%} of the edit rates are within their intervals, which are made for {COVERAGE:.0%}."
    )
    names = ("translations", "estimated edit rate", "actual edit rate", "within their intervals")
    rows = [(each.count, round(each.estimated, 2), round(each.actual, 2), f"{each.covered:.0%}") for each in bins]
    return [("Estimates of edits", text, html_table(names, rows))]
