"""Texts are cut where sentences end, and nowhere else."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docsegments.orthography.joining import gap_in_translation, join_sentences
from docsegments.sentences import ends_sentence, split_sentences


@pytest.mark.parametrize(
    "sentences",
    [
        ["The dog sleeps.", "The cat, too!", "Who else?"],
        ["“Stop!”", "He stopped."],
        ["See fig. 3 and Dr. Smith, e.g. at 3.5 km."],
        ["Am 3. Mai kam er.", "Am 4. Juni ging er."],
        ["J. S. Bach wrote it."],
        ["What? he said."],
        ["Use %s.", "%(name)s is next."],
        ["左に見える。", "右も。"],
    ],
)
def test_sentences_are_found(sentences: list[str]) -> None:
    joint = "" if "。" in sentences[0] else " "
    text = joint.join(sentences)
    assert [text[start:end] for start, end in split_sentences(text)] == sentences


@given(st.text(alphabet="aA.!? \n\"'(。3%", max_size=40))
def test_nothing_but_blanks_is_left_out(text: str) -> None:
    found = list(split_sentences(text))
    assert "".join("".join(text[start:end] for start, end in found).split()) == "".join(text.split())
    assert all(end <= start for (_, end), (start, _) in pairwise(found))
    assert all(text[start:end].strip() == text[start:end] != "" for start, end in found)


def test_a_line_that_goes_on_is_distinguished_from_one_that_ends() -> None:
    assert [ends_sentence(line) for line in ("Yes.", "Yes, and", "What?”", "", "Ja …")] == [
        True,
        False,
        True,
        True,
        True,
    ]


WHOLE = """
The U.S. Senate met at 3 p.m. Tuesday in Washington.
Er arbeitet bei der Fa. Müller & Co. KG in Köln.
Gemäß § 5 Abs. 2 Nr. 3 BGB ist das so.
Die Sitzung findet am Mo., 5. Okt., im Rathaus statt.
Das kostet ca. 3 Mio. Euro bzw. 4 Mrd. Dollar.
Ludwig XIV. König von Frankreich regierte lange.
See Sec. 4.2 and Eq. 7 for details.
Mr. and Mrs. Brown live in St. Louis.
He works for Apple Inc. in California.
Smith et al. 2010 showed this.
Le Dr. Martin habite av. Foch, no. 12.
M. Dupont et Mme. Durand sont là.
La Sra. García vive en la Av. Libertad, núm. 5.
EE.UU. Mexico y otros firmaron.
Il Sig. Rossi abita in via Roma n. 5.
L'On. Bianchi ha parlato.
O Sr. Silva mora na Av. Paulista.
Veja pág. 5 e art. 3 da lei.
Dhr. Jansen woont in Amsterdam, nr. 5.
Dat is bijv. Amsterdam of Rotterdam.
Он родился в 1990 г. Москва его дом.
Ул. Ленина, д. 5, кв. 3.
Проф. Иванов и др. Учёные пришли.
Это стоит 5 тыс. Рублей.
Ul. Długa 5, tel. 123 456.
Prof. Dr. rer. nat. Schmidt lehrt hier.
Am 3. Oktober und 19. Jahrhundert.
z. B. Hunde, d. h. Tiere, u. a. Katzen.
Die 2. Bundesliga beginnt.
Dr. phil. Anna Meier spricht.
Kat. Nr. 5 ist da.
The meeting is on Jan. 5 at 10 a.m. Eastern.
Washington D.C. Mayor spoke.
No. 5 is alive.
Vol. 3, pp. 5 and Fig. 2.
Lt. Col. Smith and Gen. Jones met.
Kl. 8 starter møtet.
Örn. Ankara ve İstanbul.
Sn. Yılmaz geldi.
Ο κ. Παπαδόπουλος ήρθε.
Cf. Descartes sur ce point.
„Er kam.“, sagte sie.
"Why?" she asked.
他说：“你好。”，然后走了。
「行く。」と言った。
"""
SEVERAL = """
2 Er wohnt in der Hauptstr. Sie wohnt in Wien.
2 It is 5 p.m. She left.
2 Er kam um 1990. Dann ging er.
2 I like art. She likes music.
2 Ich gebe es dir. Peter weiß es.
2 She said no. He said yes.
2 Das ist Max. Er lacht.
2 We use a PC. Peter uses a Mac.
4 他来了。她走了！真的？是。
2 他来了.她走了.
2 वह आया। वह गया।
2 هل جاء؟ نعم.
2 Τι κάνεις; Καλά είμαι.
2 OK!然后走吧。
2 Es kostet 10 Mio. Das ist viel.
2 Он жил в 1990 г. Она тоже.
2 It costs 5 kg. Peter pays.
3 Ja. Nein. Doch.
2 Wir sind hier… Und dort.
2 He took vitamin C. Then he slept.
2 Das Konzert ist um 8. Wir gehen hin.
"""


@pytest.mark.parametrize("sentence", WHOLE.strip().splitlines())
def test_no_sentence_is_cut_after_an_abbreviation(sentence: str) -> None:
    assert [sentence[start:end] for start, end in split_sentences(sentence)] == [sentence]


@pytest.mark.parametrize("line", SEVERAL.strip().splitlines())
def test_sentences_end_though_a_word_looks_like_an_abbreviation_and_without_blanks(line: str) -> None:
    count, _, text = line.partition(" ")
    assert len(list(split_sentences(text))) == int(count)


@pytest.mark.parametrize(
    ("sentences", "language", "expected"),
    [
        (["左に見える。", "右も。"], "ja", "左に見える。右も。"),
        (["他来了。", "她走了。"], "", "他来了。她走了。"),
        (["他来了。", "她走了。"], "zh_CN", "他来了。她走了。"),
        (["He came.", "She left."], "en", "He came. She left."),
        (["개는 뛴다.", "그는 본다."], "ko", "개는 뛴다. 그는 본다."),
        (["OK.", "はい。"], "ja", "OK.はい。"),
        (["A.", "", "B."], "", "A. B."),
    ],
)
def test_sentences_are_joined_as_their_language_joins_them(sentences: list[str], language: str, expected: str) -> None:
    assert join_sentences(sentences, language) == expected


@pytest.mark.parametrize(
    ("gap", "source", "translation", "language", "expected"),
    [
        (" ", ("A.", "B."), ("甲。", "乙。"), "ja", ""),
        ("", ("甲。", "乙。"), ("A.", "B."), "en", " "),
        ("", ("甲。", "乙。"), ("A.", "B."), "", " "),
        ("", ("long", "word"), ("lang", "wort"), "de", ""),
        ("\n", ("A.", "B."), ("甲。", "乙。"), "zh", "\n"),
        (" ", ("A.", "B."), ("", "乙。"), "de", ""),
    ],
)
def test_what_is_between_sentences_follows_the_language_of_the_translation(
    gap: str, source: tuple[str, str], translation: tuple[str, str], language: str, expected: str
) -> None:
    assert gap_in_translation(gap, source, translation, language) == expected
