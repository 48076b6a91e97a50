"""Abbreviations that end in a full stop, of many languages, and the words that tell whether a sentence ends there.

The language of a text is not asked for, so that all are known at once. What is an abbreviation in one language and a
word in another (no, art, set) counts as one before a number only.
"""

import re

_BEFORE_NAMES = (
    "adm brig capt col dott cpl dhr dipl doc doç dott dr dra drs dña eng excmo exma exmo frl gov hr hrn inż ing ir "
    "jfr judr kpl lt "
    "maj messrs mgr mevr mlle mlles mme mmes mons mr mrs ms mt mudr mw nl phdr prof profa sgt l'on sig sigg sigra "
    "sn sr sra srs sras srta st sta ste sto supt yrd özv "
    "акад гл гр доц им кв наб пер пл просп проф ул вул див д-р δρ λεωφ κος डॉ प्रो श्री सुश्री"
)
_BEFORE_MORE = {
    "de": "abb abs abschn allg anm aug bd bsp bspw bzw ca dez evtl exkl fa febr feb geb gem gest ggf hrsg inh inkl "
    "insb int kat "
    "habil jan jh jhd jur kap max med mind mio mrd nov nat nr okt phil rer sept sog str tab tel tsd usf "
    "usw uvm verf vgl wg zgl zzgl ziff",
    "en": "al approx assn gen hon pres rep rev sen ave bldg blvd cf co corp dec dept eq etc figs govt inc jr "
    "ltd misc nos oct pg pp sept "
    "univ "
    "vol vols viz vs",
    "fr": "av bd boul chap déc env éd etc févr janv juil oct p réf sect tél vol",
    "es": "abr admón ago apdo aprox arq avda cía dcha dpto ed etc gral izda izq jul jun lic ltda máx mín núm "
    "pág págs "
    "tfno ud uds vd vds",
    "it": "avv cfr dic ecc egr gen giu lug mag ott pag pagg rag sett sez spett",
    "pt": "cel cia dez fev jan jul jun ltda out. pág págs séc tít",
    "nl": "afd apr bijv blz bv dec enz evt fam hoofdst incl jl mld mln mrt ong resp zgn",
    "pl": "godz itd itp mld mln np płk pt red rys tj tys tzn tzw ul woj zob zł św",
    "sv": "dvs jfr kl milj mfl mkr osv tlf",
    "cs": "apod atd např odst popř příp tis tzn tzv",
    "tr": "alb bkz cad mah müd örn sok vb",
    "ru": "в вв г гг др коп млн млрд напр п пос проч рис руб с см ст стр т табл тел тыс",
    "uk": "грн ін млн млрд напр обл р рр рис тис",
    "el": "αρ δηλ εικ κ κεφ κλπ οδ πρβλ σελ τηλ",
    "hu": "ill kb ld stb tkp ún",
    "fi": "esim jne klo milj mrd puh",
}
_BEFORE_NUMBERS = (
    "aprile ar art arts cap ch col dir ex fig gl ill in kl lib lin mar mart min no not op ord par pl pos q r s sec "
    "set sig sp tit to ts ver w vers"
)
_BEGINNING = {
    "en": "A After An And As At Before But For He Her Here His How However I If In It Its My No Not On Our She "
    "So That The "
    "Their Then There These They This Those We What When While Who Why Yes You",
    "de": "Aber Als Am An Auch Auf Aus Bei Da Danach Dann Das Dem Den Der Die Dies Diese Dieser Dieses Doch "
    "Dort Du Ein "
    "Eine Einen Er Es Für Heute Hier Ich Ihr Im Jetzt Kein Man Mit Nach Nun Nur Oder Seit Sie Und Von Vor "
    "Warum Was Wenn "
    "Wer Wie Wir Zu Über",
    "fr": "Au Aux Après Avant Avec Ce Cela Ces Cette Dans Depuis Des Elle Elles En Et Il Ils Je La Le Les Mais "
    "Nous On Ou "
    "Par Pour Puis Quand Qui Ses Si Son Sur Tu Un Une Vous Ça",
    "es": "Al Con Cuando El Ella Ellas Ellos Es Esa Ese Eso Esta Este Esto Las Los Nosotros Para Pero Por Su "
    "Sus Una Y Ya "
    "Yo Él Tú",
    "it": "Con Dopo Gli Il Lei Lo Loro Lui Ma Nel Nella Noi Non Per Poi Quando Questa Questo Se Voi È",
    "pt": "As Com Depois Ela Elas Ele Eles Em Eu Isso Mas Na Nós O Os Quando Um Uma",
    "nl": "Dan Dat De Deze Dit Een En Er Het Hij Ik Je Maar Met Na Op Toen Voor Wij Ze Zij",
    "sv": "Den Det Du Ett Han Hon Hun Jag Jeg Med Men Och Og På Vi",
    "pl": "Ale Do Ja My Na Nie Ona Oni Po Ta Ten To Z",
    "cs": "Já Je V Ve",
    "tr": "Ama Ben Bir Biz Bu Onlar Sen Sonra Ve Şu",
    "ru": "А В Вы За И Когда Мы На Но Он Она Они Оно По Потом С Там Тут Ты У Затем Эта Эти Это Этот Я Если",
    "uk": "Але Ви Вона Вони Воно Він Ми Потім Після Та Це Цей І",
    "el": "Αλλά Από Αυτή Αυτό Αυτός Για Δεν Εγώ Εμείς Η Και Με Μετά Ο Οι Στη Στο Τα Το",
    "hu": "Az De Egy Ez És Ő Ők",
    "fi": "Hän Ja Me Mutta Se Tämä",
}
_NAMES = frozenset(_BEFORE_NAMES.split())
_MORE = frozenset(word.rstrip(".") for words in _BEFORE_MORE.values() for word in words.split())
_NUMBERS = frozenset(_BEFORE_NUMBERS.split())
_BEGINS = frozenset(word for words in _BEGINNING.values() for word in words.split())
_INITIALS = re.compile(r"(?:[^\W\d_]{1,2}\.[-‑]?)+[^\W\d_]{1,2}")
_NO_VOWELS = re.compile(r"[b-df-hj-np-tv-xz]{2,5}|[бвгджзйклмнпрстфхцчшщ]{2,5}", re.IGNORECASE)
_NO_STOP = "brr cd cm dvd gb ghz hmm hz kb kg khz km mb mg mhz ml mm pc psst pst shh tb tv"
_UNITS = frozenset(_NO_STOP.split())
"""Words without vowels that are no abbreviations with a full stop."""
_ROMAN = re.compile(r"[IVX]{1,6}")


def may_end_before(word: str, following: str) -> bool:
    """Returns True if a full stop after a word may end a sentence before the word that follows.

    An abbreviation does if it may be the last word of a sentence, and a word follows that often begins one. A number of
    two digits that another word follows is taken for an ordinal, as many languages write it.

    Args:
        word: what is before the full stop, back to white space or what opens a bracket or quotation.
        following: the first word after it, from its first letter or digit.
    """
    last = word.rpartition("-")[2] or word
    small = last.casefold().replace("’", "'")
    if small in _NAMES:
        return False
    is_number = following[:1].isdecimal()
    if small in _NUMBERS and is_number:
        return False
    is_ordinal = (word.isdecimal() and len(word) <= 2) or _ROMAN.fullmatch(word) is not None
    if is_ordinal and not following[:1].isalpha():
        return True
    is_short = (
        small in _MORE
        or (small.endswith(("str", "nr")) and len(small) > 3 and small != last.upper())
        or _INITIALS.fullmatch(word) is not None
        or (_NO_VOWELS.fullmatch(last) is not None and small not in _UNITS and not last.isupper())
    )
    is_initial = len(last) == 1 and last.isalpha() and not "\u3000" < last < "\uf000"
    if not (is_short or is_ordinal or is_initial):
        return True
    return following in _BEGINS and not (is_initial and len(following) < 3)
