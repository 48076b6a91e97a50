"""A set of fingerprints is a set, in less memory."""

import sys

from hypothesis import given
from hypothesis import strategies as st

from transduce.corpora.fingerprints import MIN_SLOTS, Fingerprints, fingerprint

crowded = st.integers(1, 5) | st.integers(1, 2**64 - 1) | st.integers(1, 9).map(lambda n: n * MIN_SLOTS)


@given(st.lists(crowded), st.lists(crowded))
def test_it_knows_what_a_set_knows(added, asked):
    ours, theirs = Fingerprints(), set()
    for value in added:
        assert ours.add(value) == (value not in theirs)
        theirs.add(value)
    assert len(ours) == len(theirs)
    assert all((value in ours) == (value in theirs) for value in added + asked)


def test_it_grows_and_stays_small():
    texts = Fingerprints()
    values = [fingerprint(str(number)) for number in range(5000)]
    assert all(texts.add(value) for value in values)
    assert all(value in texts for value in values)
    assert sys.getsizeof(texts._slots) <= 33 * len(values)


def test_salt_and_text_make_the_fingerprint():
    assert fingerprint("a") == fingerprint("a") != fingerprint("b")
    assert fingerprint("a", "x") != fingerprint("a", "y")
    assert fingerprint("\ud800")
