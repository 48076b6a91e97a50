"""A project's terms are met by forms that its memory shows, once these are learned."""

import time
from collections.abc import Callable, Iterator

import pytest

from transduce.apps.projects.project import Project
from transduce.apps.projects.project_terms import ProjectTerms
from transduce.text.glossary import Entry, Glossary

NOUNS = [("dog", "Hund"), ("boat", "Boot"), ("friend", "Freund"), ("table", "Tisch"), ("stone", "Stein")]


@pytest.fixture
def terms() -> Iterator[ProjectTerms]:
    made = ProjectTerms()
    yield made
    made.close()


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def confirm_nouns(project: Project) -> None:
    for one, eins in NOUNS:
        for verb, verb_de in (("see", "sehen"), ("want", "wollen"), ("find", "finden")):
            project.store.confirm(f"we {verb} this {one}", "", f"wir {verb_de} hier {eins}")
            project.store.confirm(f"we {verb} many {one}s", "", f"wir {verb_de} viele {eins}e")


def test_forms_are_learned_from_what_was_confirmed(project: Project, terms: ProjectTerms) -> None:
    assert terms.glossary(project) is None
    project.replace_glossary(Glossary([Entry("dog", "Hund"), Entry("", "ugly", True)]))
    confirm_nouns(project)
    plain = terms.glossary(project)
    assert plain is not None and plain.entries[0] == Entry("dog", "Hund")  # nobody waits
    until(lambda: (terms.glossary(project) or plain).applying("two dogs").required == ("Hund",))
    (use,) = [use for use in terms(project, "two dogs", "zwei Hunde") if use.source]
    assert (use.source, use.target, use.met, use.why) == ("dog", "Hund", True, "as 'Hunde'")
    banned = [use for use in terms(project, "two dogs", "ugly") if not use.source]
    assert [(use.target, use.met) for use in banned] == [("ugly", False)]


def test_a_changed_glossary_counts_at_once(project: Project, terms: ProjectTerms) -> None:
    confirm_nouns(project)
    project.replace_glossary(Glossary([Entry("dog", "Hund")]))
    until(lambda: (terms.glossary(project) or Glossary([])).applying("two dogs").required == ("Hund",))
    project.replace_glossary(Glossary([Entry("boat", "Kahn")]))
    assert [(use.target, use.met, use.why) for use in terms(project, "a boat", "ein Boot")] == [
        ("Kahn", False, "missing")
    ]
    project.replace_glossary(Glossary([]))
    assert terms(project, "a boat", "ein Boot") == []


def test_an_empty_memory_leaves_terms_as_they_are(project: Project, terms: ProjectTerms) -> None:
    project.replace_glossary(Glossary([Entry("dog", "Hund")]))
    assert [(use.met, use.why) for use in terms(project, "a dog", "ein Hunde")] == [
        (False, "the translation has 'Hunde', a form that the glossary does not allow")
    ]


def test_terms_are_met_or_not_as_the_glossary_spells_them(project: Project, terms: ProjectTerms) -> None:
    entries = [Entry("dog", "Hund"), Entry("cat", "Katze"), Entry("", "Köter", is_banned=True), Entry("cow", "Kuh")]
    project.replace_glossary(Glossary(entries))
    assert [
        (use.target, use.met, use.why) for use in terms(project, "A Dog and a cat", "Ein Köter und eine Katze")
    ] == [
        ("Hund", False, "missing"),
        ("Katze", True, "as in the glossary"),
        ("Köter", False, "banned"),
    ]
