"""The segments of a page: its sentences with their tags as marks, by the events of the page."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise

from docsegments.html.character_references import WrittenText, escape_text
from docsegments.html.events import Event
from docsegments.html.tree import READINGS, Decision
from docsegments.segment import Mark, Part, is_text
from docsegments.text.elements import parts_words, with_notes
from docsegments.text.placeholders import Escape, hold

ENDLESS_STAYS = "text in an element that does not end, and whose text stays"
READING_STAYS = "a reading of the words before it (<rt>), which are translated without it"


@dataclass(frozen=True)
class HtmlItem:
    """A part of a segment and its span in the page."""

    part: Part
    start: int
    end: int
    is_exact: bool = True
    """True if the characters of the page that are there mean the same elsewhere."""
    offsets: Sequence[int] = ()
    """Offsets in the page of the characters of a text, and of its end, before its placeholders are found."""
    more: str = ""
    """Characters written after the item."""

    @property
    def is_edge(self) -> bool:
        """True if the item is dispensable at the edge of a segment: white space, an image, a comment."""
        if isinstance(self.part, Mark):
            return self.part.kind == "alone" and not self.part.is_held
        return self.is_exact and not self.part.strip()


@dataclass
class _Flow:
    """Items of a segment read so far, in the page or in an element that is a mark as a whole."""

    start: int
    name: str = ""
    decision: Decision = "translated"
    """Fate of the text about the element."""
    items: list[HtmlItem] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    """Held texts of the element."""
    readings: list[tuple[int, str]] = field(default_factory=list)


def find_segments(page: str, events: Sequence[Event]) -> tuple[list[Sequence[HtmlItem]], list[tuple[int, str, str]]]:
    """Returns the segments of a page, and the offsets, texts and reasons of what is left as it is."""
    segments: list[Sequence[HtmlItem]] = []
    left: list[tuple[int, str, str]] = []
    flows = [_Flow(0)]

    def end_segment() -> None:
        if (segment := _segment(page, flows[-1].items, escape_text)) is not None:
            segments.append(segment)
        if flows[-1].readings:
            texts = " ".join(text for _, text in flows[-1].readings)
            left.append((flows[-1].readings[0][0], texts, READING_STAYS))
        flows[-1].items, flows[-1].readings = [], []

    def add(item: HtmlItem) -> None:
        items = flows[-1].items
        if items and items[-1].end != item.start:  # characters that belong to no sentence, such as a script
            end_segment()
        flows[-1].items.append(item)

    for number, event in enumerate(events):
        flow = flows[-1]
        if event.written is not None:
            if event.decision == "translated":
                add(_text_item(event.written, event.role == "text"))
            else:
                end_segment()
                flow.shown.append(event.written.text)
                if event.holder >= 0 and not events[event.holder].is_closed and event.written.text.strip():
                    left.append((event.start, event.written.text, ENDLESS_STAYS))
        elif event.role == "end":
            end_segment()
            flow.shown.append(" ")
        elif event.is_whole and event.role == "open":
            flows.append(_Flow(event.start, event.name, event.decision))
        elif event.is_whole and event.role == "close":
            end_segment()
            flows.pop()
            if flow.decision == "translated":
                add(_whole_item(page, flow, event, flows[-1]))
            else:
                flows[-1].shown += flow.shown
        elif event.decision != "translated" and event.role in ("mark", "break"):
            flow.shown.append(event.shown or " " * (event.role == "break"))
        else:
            beside = (events[n].written if 0 <= n < len(events) else None for n in (number - 1, number + 1))
            is_between = event.name != "" and parts_words(event.name, *(one and one.text for one in beside))
            add(_mark_item(page, event, number, is_between))
    end_segment()
    return segments, left


def attribute_segment(page: str, written: WrittenText, is_exact: bool, escape: Escape) -> Sequence[HtmlItem] | None:
    """Returns the segment of an attribute's value; None where nothing in it can be translated."""
    return _segment(page, [_text_item(written, is_exact)], escape)


def _text_item(written: WrittenText, is_exact: bool) -> HtmlItem:
    return HtmlItem(written.text, written.offsets[0], written.offsets[-1], is_exact, written.offsets)


def _held(page: str, items: Sequence[HtmlItem], escape: Escape) -> Iterator[HtmlItem]:
    """Yields the items with marks for what is held in their texts, also for messages of ICU that tags divide."""
    marks = deque(item for item in items if isinstance(item.part, Mark))
    texts = [item for item in items if isinstance(item.part, str)]
    starts = [offset for item in texts for offset in item.offsets[:-1]]  # in the page, of each character
    ends = [offset for item in texts for offset in item.offsets[1:]]
    exact = [item.is_exact for item in texts for _ in item.offsets[1:]]
    position = 0
    for part in hold([item.part for item in items]):
        if marks and part is marks[0].part:
            yield marks.popleft()
            continue
        text = part if isinstance(part, str) else part.raw
        bounds = [position, position + len(text)]
        is_exact = all(exact[slice(*bounds)])
        if isinstance(part, str) and is_exact and text.strip():
            bounds[1:1] = [bounds[1] - len(text.lstrip()), position + len(text.rstrip())]
        for begin, stop in pairwise(bounds):
            if begin < stop:
                start, end = starts[begin], ends[stop - 1]
                own: Part = text[begin - position : stop - position]
                if isinstance(part, Mark):
                    own = replace(part, raw=page[start:end] if is_exact else escape(part.raw))
                yield HtmlItem(own, start, end, is_exact)
        position += len(text)


def _mark_item(page: str, event: Event, number: int, is_between: bool) -> HtmlItem:
    raw = page[event.start : event.end]
    if event.role == "break" or is_between:
        mark = Mark(raw, shown=" ", breaks=True)
    elif event.role == "open":
        mark = Mark(raw, "open", str(number))
    elif event.role == "close":
        mark = Mark(raw, "close", str(event.partner))
    else:
        mark = Mark(raw, shown=event.shown)
    return HtmlItem(mark, event.start, event.end)


def _whole_item(page: str, flow: _Flow, event: Event, around: _Flow) -> HtmlItem:
    """Returns the item of an element that is a mark as a whole."""
    shown = " ".join("".join(flow.shown).split())
    more = f"</{event.name}>" if event.start == event.end else ""
    if event.name in READINGS:
        if event.name != "rp" and shown:
            around.readings.append((flow.start, shown))
        shown = ""
    elif event.name == "svg":
        shown = ""
    return HtmlItem(Mark(page[flow.start : event.end] + more, shown=shown), flow.start, event.end, more=more)


def _note_item(page: str, note: Sequence[HtmlItem]) -> HtmlItem:
    start, end = note[0].start, note[-1].end
    return HtmlItem(Mark(page[start:end]), start, end)


def _segment(page: str, items: Sequence[HtmlItem], escape: Escape) -> Sequence[HtmlItem] | None:
    """Returns the items with what is held in their texts, without dispensable ones at the edges; None if no words and
    nothing held are among them."""
    if not any(is_text(item.part) for item in items):
        return None
    marked = list(_held(page, items, escape))
    held = with_notes(marked, [item.part for item in marked], partial(_note_item, page))
    kept = [number for number, item in enumerate(held) if not item.is_edge]
    return held[kept[0] : kept[-1] + 1] if any(is_text(item.part) for item in held) else None
