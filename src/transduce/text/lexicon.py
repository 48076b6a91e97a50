"""The words of the small English-German grammar, as tables, and how each word is inflected."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import TypeVar

Item = TypeVar("Item")

CASES = ("nominative", "accusative", "dative", "genitive")
FIRST, SECOND, THIRD, PLURAL = range(4)  # the four forms a finite verb can take here: ich, du, er/sie, wir/sie


@dataclass(frozen=True, eq=False)
class Noun:
    """A noun of both languages; an empty plural marks a mass noun."""

    kind: str
    english: str
    english_plural: str
    gender: str
    german: str
    german_plural: str
    genitive: str

    def form(self, case: str, plural: bool) -> str:
        if plural:
            needs_n = case == "dative" and self.german_plural[-1] not in "ns"
            return self.german_plural + "n" * needs_n
        if case == "genitive" or (case != "nominative" and self.is_weak):
            return self.genitive
        return self.german

    @property
    def is_weak(self) -> bool:
        return self.gender == "m" and self.genitive[-1] == "n"


@dataclass(frozen=True, eq=False)
class Adjective:
    """An adjective, with the stem that takes the German endings and the kinds of nouns that it suits."""

    english: str
    german: str
    stem: str
    kinds: frozenset[str]
    degree: str  # the German comparative, or "" where "very" and "than" make no sense


@dataclass(frozen=True, eq=False)
class Determiner:
    """The word before a noun; `pattern` says how it is declined, `ending` how adjectives after it are."""

    singular: str
    plural: str
    german: str
    pattern: str
    ending: str

    @property
    def kind(self) -> str:
        """Whether the phrase is indefinite (denied by "kein"), quantified (not denied at all) or definite."""
        if (self.pattern == "none" and self.singular == "") or self.singular == "a":
            return "indefinite"
        is_quantified = self.singular in ("", "no", "every", "which", "number") or self.pattern == "count"
        return "quantified" if is_quantified else "definite"


@dataclass(frozen=True, eq=False)
class Verb:
    """A verb with its forms and with what it may be about: subject kinds, object case and kinds, adjuncts."""

    english: str
    english_past: str
    prefix: str
    bare_infinitive: str
    present: tuple[str, ...]
    participle: str
    auxiliary: str
    preterite: tuple[str, ...]
    subjects: tuple[str, ...]
    case: str
    objects: tuple[str, ...]
    traits: frozenset[str]

    @property
    def infinitive(self) -> str:
        return self.prefix + self.bare_infinitive

    @property
    def zu_infinitive(self) -> str:
        return f"{self.prefix}zu{self.bare_infinitive}" if self.prefix else f"zu {self.bare_infinitive}"

    @property
    def has_ambiguous_past(self) -> bool:
        return self.english == self.english_past


@dataclass(frozen=True, eq=False)
class Modal:
    """A modal verb; English says it with an auxiliary ("can"), with "be" or with a full verb ("want to")."""

    english: str
    english_past: str
    present: tuple[str, ...]
    past: tuple[str, ...]

    @property
    def is_full_verb(self) -> bool:
        return self.english in ("want to", "have to")


@dataclass(frozen=True, eq=False)
class Place:
    """A noun as a place, with the prepositions for being there and for going there."""

    noun: Noun
    english: str
    german: str
    goal: str
    uses: frozenset[str]

    @property
    def origin(self) -> str:
        return "aus" if self.goal == "in" else "von"


@dataclass(frozen=True, eq=False)
class FixedPlace:
    """A place whose three phrases (there, to there, from there) cannot be built from a noun."""

    there: tuple[str, str]
    goal: tuple[str, str]
    origin: tuple[str, str]
    uses: frozenset[str]


def english_comparative(adjective: str) -> str:
    if adjective in ("big", "hot", "sad"):
        return f"{adjective}{adjective[-1]}er"
    if adjective.endswith("y"):
        return adjective[:-1] + "ier"
    return (
        f"more {adjective}"
        if len(adjective) > 6 or adjective in ("famous", "boring")
        else adjective.removesuffix("e") + "er"
    )


@cache
def english_third_person(verb: str) -> str:
    """The third person singular of a verb that may be followed by a particle ("turn on")."""
    head, _, tail = verb.partition(" ")
    if head == "have":
        head = "has"
    elif head.endswith(("s", "sh", "ch", "x", "z", "o")):
        head += "es"
    elif head.endswith("y") and head[-2] not in "aeou":
        head = head[:-1] + "ies"
    else:
        head += "s"
    return f"{head} {tail}".strip()


ENDINGS = {  # gender ("p": plural) -> endings in the order of CASES; "-": none
    "article": {"m": "er en em es", "f": "ie ie er er", "n": "as as em es", "p": "ie ie en er"},
    "ein": {"m": "- en em es", "f": "e e er er", "n": "- - em es", "p": "e e en er"},
    "dieser": {"m": "er en em es", "f": "e e er er", "n": "es es em es", "p": "e e en er"},
    "weak": {"m": "e en en en", "f": "e e en en", "n": "e e en en", "p": "en en en en"},
    "mixed": {"m": "er en en en", "f": "e e en en", "n": "es es en en", "p": "en en en en"},
    "strong": {"m": "er en em en", "f": "e e er er", "n": "es es em en", "p": "e e en er"},
}
CONTRACTIONS = {"in dem": "im", "an dem": "am", "zu dem": "zum", "zu der": "zur", "bei dem": "beim", "von dem": "vom"}
CONTRACTIONS |= {"in das": "ins", "an das": "ans"}


def ending(pattern: str, gender: str, case: int) -> str:
    return ENDINGS[pattern][gender].split()[case].strip("-")


@cache
def german_noun_phrase(
    determiner: Determiner, number: str, is_very: bool, adjectives: tuple[Adjective, ...], noun: Noun, plural: bool
) -> tuple[str, ...]:
    """The phrase in all four cases."""
    gender = "p" if plural else noun.gender
    phrases = []
    for index, case in enumerate(CASES):
        has_ending = determiner.pattern in ENDINGS
        article = determiner.german + (ending(determiner.pattern, gender, index) if has_ending else "")
        described = [adjective.stem + ending(determiner.ending, gender, index) for adjective in adjectives]
        phrases.append(join(article, number, "sehr" if is_very else "", *described, noun.form(case, plural)))
    return tuple(phrases)


def join(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def with_preposition(preposition: str, phrase: str) -> str:
    """The two words, contracted ("in dem Garten" becomes "im Garten")."""
    article, _, rest = phrase.partition(" ")
    contracted = CONTRACTIONS.get(f"{preposition} {article}") if rest else None
    return f"{contracted} {rest}" if contracted else f"{preposition} {phrase}"


def english_verb(
    verb: Verb, modal: Modal | None, agreement: int, is_past: bool, needs_auxiliary: bool
) -> tuple[str, str]:
    """The finite auxiliary, if there is one, and the rest of the verb group."""
    be = ("was", "were", "was", "were")[agreement] if is_past else ("am", "are", "is", "are")[agreement]
    if modal and modal.english == "be allowed to":
        return be, f"allowed to {verb.english}"
    if modal and not modal.is_full_verb:
        return modal.english, verb.english
    if not modal and verb is BE:
        return be, ""
    base, past = (modal.english, modal.english_past) if modal else (verb.english, verb.english_past)
    complement = verb.english if modal else ""
    if needs_auxiliary:
        do = "did" if is_past else "does" if agreement == THIRD else "do"
        return do, join(base, complement)
    finite = past if is_past else english_third_person(base) if agreement == THIRD else base
    return "", join(finite, complement)


def german_verb(verb: Verb, modal: Modal | None, agreement: int, is_past: bool) -> tuple[str, str, str]:
    """The finite verb of a main clause, what ends that clause, and the whole verb at the end of a subordinate one."""
    if modal:
        finite = (modal.past if is_past else modal.present)[agreement]
        return finite, verb.infinitive, f"{verb.infinitive} {finite}"
    if is_past and not verb.preterite:
        finite = AUXILIARIES[verb.auxiliary][agreement]
        return finite, verb.participle, f"{verb.participle} {finite}"
    finite = (verb.preterite if is_past else verb.present)[agreement]
    return finite, verb.prefix, verb.prefix + finite


@dataclass(frozen=True)
class NounPhrase:
    """A noun phrase in both languages; `german` holds the four cases."""

    english: str
    english_object: str
    german: tuple[str, ...]
    agreement: int = THIRD
    kind: str = "definite"  # or "indefinite", "quantified", "pronoun", "named"
    possessor: str = ""  # the possessive that refers back to this phrase
    relative: tuple[str, str] = ("", "")
    noun: Noun | None = None

    def case(self, name: str) -> str:
        return self.german[CASES.index(name)]


@dataclass(frozen=True)
class Constituent:
    """Something in a clause besides subject and verb, with its place in either language's order."""

    english: str
    german: str
    slot: str


# Where each constituent stands after the English verb, and where between the two parts of the German one.
SLOTS = {
    "pronoun": (1, 0),
    "named": (1, 1),
    "dative": (1, 3),
    "definite": (2, 3),
    "indefinite": (2, 7),
    "quantified": (2, 7),
    "prepositional": (2, 8),
    "predicate": (2, 10),
    "company": (4, 5),
    "place": (5, 6),
    "benefit": (5, 9),
    "goal": (5, 10),
    "time": (9, 2),
}
ADVERB_SLOT = 4.0  # of "nicht", "oft", "nie" in German; English has them in the verb group
NEGATED_TIME_SLOT = 3.5  # "liest das Buch heute nicht", but "liest heute das Buch"


@dataclass(frozen=True)
class Clause:
    """A clause before it is put in order: as a statement, a question or a subordinate clause."""

    subject: NounPhrase
    verb: Verb
    tense: str = "present"
    modal: Modal | None = None
    not_german: str = ""  # "nicht" where the negation is not in "kein"
    is_negated: bool = False
    adverb: tuple[str, str] = ("", "")
    rest: tuple[Constituent, ...] = ()
    tail: tuple[str, str] = ("", "")

    def english_statement(self) -> str:
        auxiliary, main = self.english_verb(self.is_negated)
        return join(self.subject.english, self.subject.relative[0], auxiliary, self.english_end(main))

    def english_question(self, word: str = "") -> str:
        auxiliary, main = self.english_verb(True)
        return join(word, auxiliary, self.subject.english, self.subject.relative[0], self.english_end(main))

    def english_verb(self, needs_auxiliary: bool) -> tuple[str, str]:
        is_past = self.tense == "past"
        return english_verb(self.verb, self.modal, self.subject.agreement, is_past, needs_auxiliary)

    def english_end(self, main: str) -> str:
        ordered = sorted(self.rest, key=lambda part: SLOTS[part.slot][0])
        negation = "not" if self.is_negated else ""
        return join(negation, self.adverb[0], main, *(part.english for part in ordered), self.tail[0])

    def german_statement(self, front: str = "") -> str:
        """A main clause; after whatever stands in front, the finite verb comes second."""
        finite, end, _ = self.german_verb()
        if front:
            return join(front, finite, self.german_field(), end) + self.tail[1]
        return join(self.german_subject(), finite, *self.german_middle(), end) + self.tail[1]

    def german_question(self, word: str = "") -> str:
        """A question, after its question word if it has one."""
        finite, end, _ = self.german_verb()
        return join(word, finite, self.german_field(), end) + self.tail[1]

    def german_verb_last(self, conjunction: str = "") -> str:
        """A subordinate clause."""
        return join(conjunction, self.german_field(), self.german_verb()[2]) + self.tail[1]

    def german_verb(self) -> tuple[str, str, str]:
        """The verb as lexicon.german_verb gives it."""
        return german_verb(self.verb, self.modal, self.subject.agreement, self.tense == "past")

    def german_subject(self) -> str:
        """The subject with its relative clause."""
        return self.subject.german[0] + self.subject.relative[1]

    def german_field(self) -> str:
        """Subject and middle; a pronoun precedes a subject that is none, unless it could be taken for the subject."""
        subject, middle = self.german_subject(), self.german_middle()
        has_pronoun = any(part.slot == "pronoun" for part in self.rest)
        if has_pronoun and self.subject.kind != "pronoun" and middle[0] != "sie":
            return join(middle[0], subject, *middle[1:])
        return join(subject, *middle)

    def german_middle(self) -> tuple[str, ...]:
        """What stands between the finite verb (or the subject) and the end of the clause, in order."""
        slots = [(ADVERB_SLOT, self.not_german or self.adverb[1])]
        slots += [(self.german_slot(part), part.german) for part in self.rest]
        return tuple(text for _, text in sorted(slots, key=lambda slot: slot[0]))

    def german_slot(self, part: Constituent) -> float:
        return NEGATED_TIME_SLOT if part.slot == "time" and self.not_german else SLOTS[part.slot][1]


def indefinite_article(following: str) -> str:
    return "an" if following[0] in "aeiou" else "a"


# english, plural, article, German, plural, genitive
NOUN_TABLE = """
[person]
man        men         der Mann        Männer        Mannes
woman      women       die Frau        Frauen        Frau
child      children    das Kind        Kinder        Kindes
boy        boys        der Junge       Jungen        Jungen
girl       girls       das Mädchen     Mädchen       Mädchens
teacher    teachers    der Lehrer      Lehrer        Lehrers
student    students    der Student     Studenten     Studenten
doctor     doctors     der Arzt        Ärzte         Arztes
policeman  policemen   der Polizist    Polizisten    Polizisten
farmer     farmers     der Bauer       Bauern        Bauern
tourist    tourists    der Tourist     Touristen     Touristen
guest      guests      der Gast        Gäste         Gastes
[kin]
mother     mothers     die Mutter      Mütter        Mutter
father     fathers     der Vater       Väter         Vaters
brother    brothers    der Bruder      Brüder        Bruders
sister     sisters     die Schwester   Schwestern    Schwester
uncle      uncles      der Onkel       Onkel         Onkels
aunt       aunts       die Tante       Tanten        Tante
friend     friends     der Freund      Freunde       Freundes
neighbor   neighbors   der Nachbar     Nachbarn      Nachbarn
colleague  colleagues  der Kollege     Kollegen      Kollegen
[animal]
dog        dogs        der Hund        Hunde         Hundes
cat        cats        die Katze       Katzen        Katze
horse      horses      das Pferd       Pferde        Pferdes
bird       birds       der Vogel       Vögel         Vogels
bear       bears       der Bär         Bären         Bären
[food]
apple      apples      der Apfel       Äpfel         Apfels
egg        eggs        das Ei          Eier          Eis
cake       cakes       der Kuchen      Kuchen        Kuchens
potato     potatoes    die Kartoffel   Kartoffeln    Kartoffel
tomato     tomatoes    die Tomate      Tomaten       Tomate
banana     bananas     die Banane      Bananen       Banane
[meal]
bread      -           das Brot        -             Brotes
cheese     -           der Käse        -             Käses
soup       -           die Suppe       -             Suppe
[drink]
water      -           das Wasser      -             Wassers
coffee     -           der Kaffee      -             Kaffees
milk       -           die Milch       -             Milch
tea        -           der Tee         -             Tees
[vehicle]
car        cars        das Auto        Autos         Autos
bicycle    bicycles    das Fahrrad     Fahrräder     Fahrrads
[transport]
bus        buses       der Bus         Busse         Busses
train      trains      der Zug         Züge          Zuges
ship       ships       das Schiff      Schiffe       Schiffes
[clothing]
coat       coats       der Mantel      Mäntel        Mantels
jacket     jackets     die Jacke       Jacken        Jacke
shirt      shirts      das Hemd        Hemden        Hemdes
dress      dresses     das Kleid       Kleider       Kleides
hat        hats        der Hut         Hüte          Hutes
scarf      scarves    der Schal       Schals        Schals
[reading]
book       books       das Buch        Bücher        Buches
letter     letters     der Brief       Briefe        Briefes
newspaper  newspapers  die Zeitung     Zeitungen     Zeitung
[tale]
story      stories    die Geschichte  Geschichten   Geschichte
[device]
lamp lamps       die Lampe       Lampen        Lampe
computer   computers   der Computer    Computer      Computers
radio      radios      das Radio       Radios        Radios
[thing]
key        keys        der Schlüssel   Schlüssel     Schlüssels
bag        bags        die Tasche      Taschen       Tasche
picture    pictures    das Bild        Bilder        Bildes
ball       balls       der Ball        Bälle         Balles
gift       gifts       das Geschenk    Geschenke     Geschenks
[opening]
door       doors       die Tür         Türen         Tür
window     windows     das Fenster     Fenster       Fensters
[furniture]
table      tables      der Tisch       Tische        Tisches
chair      chairs      der Stuhl       Stühle        Stuhls
bed        beds        das Bett        Betten        Bettes
[room]
kitchen    kitchens    die Küche       Küchen        Küche
house      houses      das Haus        Häuser        Hauses
office     offices     das Büro        Büros         Büros
garden     gardens     der Garten      Gärten        Gartens
[site]
park       parks       der Park        Parks         Parks
school     schools     die Schule      Schulen       Schule
station    stations    der Bahnhof     Bahnhöfe      Bahnhofs
museum     museums     das Museum      Museen        Museums
city       cities      die Stadt       Städte        Stadt
village    villages    das Dorf        Dörfer        Dorfes
forest     forests     der Wald        Wälder        Waldes
market     markets     der Markt       Märkte        Marktes
restaurant restaurants das Restaurant  Restaurants   Restaurants
lake       lakes       der See         Seen          Sees
hospital   hospitals   das Krankenhaus Krankenhäuser Krankenhauses
[event]
film       films       der Film        Filme         Films
concert    concerts    das Konzert     Konzerte      Konzerts
party      parties     die Party       Partys        Party
"""

# noun, English preposition, German one for being there (dative), German one for going there; what one does there
# (as in the traits of verbs)
PLACE_TABLE = """
kitchen    in in  in | place seat walk
house      in in  in | place home walk
office     in in  in | place seat walk drive
garden     in in  in | place seat walk
park       in in  in | place seat site walk drive
school     at in  zu | place site walk drive
station    at an  zu | place seat site arrival walk drive
museum     in in  in | place site walk drive
city       in in  in | place home arrival walk drive trip
village    in in  in | place home arrival walk drive trip
forest     in in  in | place seat home walk drive
market     at auf zu | place site walk drive
restaurant in in  in | place seat site walk drive
lake       at an  zu | place seat site arrival walk drive trip
hospital   in in  in | place site walk drive
"""

# being there, going there, coming from there; what one does there
FIXED_PLACE_TABLE = """
in Berlin       | in Berlin  | to Berlin       | nach Berlin  | from Berlin       | aus Berlin  | place home arrival drive trip
in Vienna       | in Wien    | to Vienna       | nach Wien    | from Vienna       | aus Wien    | place home arrival drive trip
in Italy        | in Italien | to Italy        | nach Italien | from Italy        | aus Italien | place home drive trip
at the baker's  | beim Bäcker | to the baker's | zum Bäcker   | from the baker's  | vom Bäcker  | site walk drive
at the doctor's | beim Arzt  | to the doctor's | zum Arzt     | from the doctor's | vom Arzt    | site walk drive
"""

SPOT_TABLE = """
on      | auf
under   | unter
next to | neben
behind  | hinter
"""

# English, German, stem before endings, comparative ("-": no degrees); the heading names the kinds of nouns
ADJECTIVE_TABLE = """
[person kin animal vehicle transport clothing reading device thing opening furniture room site]
old          alt          alt         älter
[person kin animal]
young        jung         jung        jünger
hungry       hungrig      hungrig     hungriger
tired        müde         müd         müder
happy        glücklich    glücklich   glücklicher
sad          traurig      traurig     trauriger
sick         krank        krank       -
strong       stark        stark       stärker
lazy         faul         faul        fauler
[person kin]
friendly     freundlich   freundlich  freundlicher
famous       berühmt      berühmt     berühmter
rich         reich        reich       reicher
poor         arm          arm         ärmer
tall         groß         groß        größer
[animal food vehicle transport clothing device thing opening furniture room site event]
big          groß         groß        größer
small        klein        klein       kleiner
[vehicle transport clothing reading device thing opening furniture room site event tale]
new          neu          neu         neuer
[vehicle clothing thing room site event reading tale animal]
beautiful    schön        schön       schöner
[food meal vehicle clothing reading device thing furniture]
cheap        billig       billig      billiger
[vehicle clothing reading device thing furniture]
expensive    teuer        teur        teurer
[vehicle transport clothing opening furniture]
dirty        schmutzig    schmutzig   schmutziger
[food meal]
fresh        frisch       frisch      frischer
[drink soup]
hot          heiß         heiß        heißer
cold         kalt         kalt        kälter
[reading tale event]
interesting  interessant  interessant interessanter
boring       langweilig   langweilig  langweiliger
long         lang         lang        länger
short        kurz         kurz        kürzer
[room site]
dark         dunkel       dunkl       dunkler
quiet        ruhig        ruhig       ruhiger
[vehicle device]
broken       kaputt       kaputt      -
[thing furniture device]
heavy        schwer       schwer      schwerer
[vehicle transport clothing color]
red          rot          rot         -
blue         blau         blau        -
green        grün         grün        -
[animal vehicle clothing color]
black        schwarz      schwarz     -
white        weiß         weiß        -
"""

# English singular, plural ("-": none), German stem, pattern of the determiner, endings of adjectives after it
DETERMINER_TABLE = """
the   the   d     article weak
a     -     ein   ein     mixed
no    no    kein  ein     mixed
my    my    mein  ein     mixed
your  your  dein  ein     mixed
his   his   sein  ein     mixed
her   her   ihr   ein     mixed
our   our   unser ein     mixed
their their ihr   ein     mixed
this  these dies  dieser  weak
every -     jed   dieser  weak
which which welch dieser  weak
-     all   all   dieser  weak
-     many  viel  dieser  strong
-     some  einig dieser  strong
"""

NUMBER_TABLE = """
two zwei       three drei      four vier        five fünf        six sechs
seven sieben   eight acht      nine neun        ten zehn         eleven elf
twelve zwölf   thirteen dreizehn  fourteen vierzehn  fifteen fünfzehn  sixteen sechzehn
seventeen siebzehn  eighteen achtzehn  nineteen neunzehn  twenty zwanzig
"""

# The heading says: subjects -> case (or preposition and case) and objects ; traits.
# Traits: place (anywhere), seat, site, home, arrival (such places), walk, drive, trip (to such places), origin, spot
# (on furniture): adjuncts it may take, "!" if it must; company: "with", benefit: "for" phrases;
# stative: no modals, no time in the present; unwilled: no modals; object determiners: definite, generic (also bare plurals), plain (no numbers).
# Columns: English, past, German (prefix|infinitive), er-form or ich, du, er, wir, participle with haben or sein,
# preterite where Germans use it rather than the perfect.
VERB_TABLE = """
[person animal -> ; place]
sleep       / slept       / schlafen      / schläft  / hat geschlafen
[person -> ; place company]
work        / worked      / arbeiten      / arbeitet / hat gearbeitet
sing        / sang        / singen        / singt    / hat gesungen
dance       / danced      / tanzen        / tanzt    / hat getanzt
laugh       / laughed     / lachen        / lacht    / hat gelacht
[person -> ; company]
watch TV    / watched TV  / fern|sehen    / sieht    / hat ferngesehen
[person -> ; ]
get up      / got up      / auf|stehen    / steht    / ist aufgestanden
come back   / came back   / zurück|kommen / kommt    / ist zurückgekommen
[person -> ; place stative]
fall asleep / fell asleep / ein|schlafen  / schläft  / ist eingeschlafen
[person -> ; home!]
live        / lived       / wohnen        / wohnt    / hat gewohnt
[person transport -> ; arrival! unwilled]
arrive      / arrived     / an|kommen     / kommt    / ist angekommen
[person -> ; seat! company]
sit         / sat         / sitzen        / sitzt    / hat gesessen
[person -> ; place! company]
stay        / stayed      / bleiben       / bleibt   / ist geblieben
[person -> ; walk! company]
go          / went        / gehen         / geht     / ist gegangen
[person -> ; drive! company]
drive       / drove       / fahren        / fährt    / ist gefahren
[person -> ; trip! company]
travel      / traveled    / reisen        / reist    / ist gereist
[person -> ; origin!]
come        / came        / kommen        / kommt    / ist gekommen
[reading thing animal -> ; spot! stative]
lie         / lay         / liegen        / liegt    / hat gelegen
[transport -> ; ]
depart      / departed    / ab|fahren     / fährt    / ist abgefahren
[event -> ; ]
begin       / began       / an|fangen     / fängt    / hat angefangen
[person -> accusative food meal clothing vehicle reading device thing furniture ; benefit]
buy         / bought      / kaufen        / kauft    / hat gekauft
[person -> accusative food clothing vehicle reading device thing furniture ; ]
sell        / sold        / verkaufen     / verkauft / hat verkauft
[person -> accusative person animal vehicle thing transport ; place stative]
see         / saw         / sehen         / sieht    / hat gesehen
[person -> accusative animal thing clothing ; place stative]
find        / found       / finden        / findet   / hat gefunden
[person -> accusative person animal ; definite stative]
hear        / heard       / hören         / hört     / hat gehört
[person -> accusative person reading tale site ; definite stative]
know        / knew        / kennen        / kennt    / hat gekannt    / kannte
[person -> accusative person animal food meal drink reading tale event ; generic stative]
like        / liked       / mögen         / mag magst mag mögen / hat gemocht / mochte
[person -> accusative person animal reading tale site ; definite stative]
love        / loved       / lieben        / liebt    / hat geliebt
[person -> accusative clothing reading thing vehicle device ; stative]
need        / needed      / brauchen      / braucht  / hat gebraucht  / brauchte
have        / had         / haben         / hat      / hat gehabt     / hatte
[person -> accusative thing clothing person animal ; place]
look for    / looked for  / suchen        / sucht    / hat gesucht
[person -> accusative thing clothing reading tale ; definite stative]
forget      / forgot      / vergessen     / vergisst / hat vergessen
[person -> accusative thing clothing reading ; definite stative]
lose        / lost        / verlieren     / verliert / hat verloren
[person -> accusative food meal ; place company]
eat         / ate         / essen         / isst     / hat gegessen
[person -> accusative drink ; place company]
drink       / drank       / trinken       / trinkt   / hat getrunken
[person -> accusative reading tale ; place]
read        / read        / lesen         / liest    / hat gelesen
[person -> accusative book letter tale ; place]
write       / wrote       / schreiben     / schreibt / hat geschrieben
[person -> accusative clothing ; plain]
wear        / wore        / tragen        / trägt    / hat getragen
put on      / put on      / an|ziehen     / zieht    / hat angezogen
[person -> accusative clothing vehicle dog ; plain]
wash        / washed      / waschen       / wäscht   / hat gewaschen
[person -> accusative vehicle device ; place]
repair      / repaired    / reparieren    / repariert / hat repariert
[person -> accusative device ; plain]
turn on     / turned on   / ein|schalten  / schaltet / hat eingeschaltet
turn off    / turned off  / aus|schalten  / schaltet / hat ausgeschaltet
[person -> accusative opening ; plain]
open        / opened      / öffnen        / öffnet   / hat geöffnet
close       / closed      / schließen     / schließt / hat geschlossen
[person -> accusative room ; definite]
clean up    / cleaned up  / auf|räumen    / räumt    / hat aufgeräumt
[person -> accusative person ; ]
call        / called      / an|rufen      / ruft     / hat angerufen
invite      / invited     / ein|laden     / lädt     / hat eingeladen
[person -> accusative person museum ; ]
visit       / visited     / besuchen      / besucht  / hat besucht
[person -> dative person ; place]
help        / helped      / helfen        / hilft    / hat geholfen
thank       / thanked     / danken        / dankt    / hat gedankt
[person -> dative person ; definite]
answer      / answered    / antworten     / antwortet / hat geantwortet
listen to   / listened to / zu|hören      / hört     / hat zugehört
[person animal -> dative person animal ; definite]
follow      / followed    / folgen        / folgt    / ist gefolgt
[vehicle thing animal clothing reading -> dative person ; definite stative]
belong to   / belonged to / gehören       / gehört   / hat gehört     / gehörte
[person -> auf+accusative person transport ; definite site]
wait for    / waited for  / warten        / wartet   / hat gewartet
[person -> über+accusative person reading tale event animal ; definite company]
talk about  / talked about / sprechen     / spricht  / hat gesprochen
[person -> an+accusative person event ; definite unwilled]
think of    / thought of  / denken        / denkt    / hat gedacht
[child boy girl dog cat -> mit+dative child cat dog ball ; definite place]
play with   / played with / spielen       / spielt   / hat gespielt
"""

# Verbs with a person (dative) and a thing (accusative).
GIVING_TABLE = """
[person -> accusative food reading thing clothing ; ]
give        / gave        / geben         / gibt     / hat gegeben
bring       / brought     / bringen       / bringt   / hat gebracht
[person -> accusative reading thing clothing vehicle animal ; ]
show        / showed      / zeigen        / zeigt    / hat gezeigt
[person -> accusative reading thing ; ]
send        / sent        / schicken      / schickt  / hat geschickt
[person -> accusative food meal drink ; ]
offer       / offered     / an|bieten     / bietet   / hat angeboten
"""

# Verbs with a clause for an object; the heading names the conjunctions.
SAYING_TABLE = """
[person -> that ; ]
say         / said        / sagen         / sagt     / hat gesagt
hope        / hoped       / hoffen        / hofft    / hat gehofft
believe     / believed    / glauben       / glaubt   / hat geglaubt
[person -> that whether why where ; stative]
know        / knew        / wissen        / weiß weißt weiß wissen / hat gewusst / wusste
[person -> whether why where ; ]
ask         / asked       / fragen        / fragt    / hat gefragt
"""

OTHER_VERB_TABLE = """
[person person animal food meal drink vehicle clothing reading tale device thing room site event -> ; stative]
be          / was         / sein          / bin bist ist sind / ist gewesen / war
[person -> ; ]
try         / tried       / versuchen     / versucht / hat versucht
"""

# English, its past ("-": none), German present (ich, du, er, wir), German preterite of the ich-form
MODAL_TABLE = """
can           / -         / kann kannst kann können    / -
must          / -         / muss musst muss müssen     / -
will          / -         / werde wirst wird werden    / -
should        / -         / sollte solltest sollte sollten / -
be allowed to / -         / darf darfst darf dürfen    / durfte
want to       / wanted to / will willst will wollen    / wollte
have to       / had to    / muss musst muss müssen     / musste
"""

# English, German, the tenses it fits ("future": with a modal)
TIME_TABLE = """
today            | heute             | present past future
now              | jetzt             | present future
yesterday        | gestern           | past
tomorrow         | morgen            | future
every day        | jeden Tag         | present past
every week       | jede Woche        | present past
on Monday        | am Montag         | past future
on Friday        | am Freitag        | past future
in the morning   | am Morgen         | present past future
in the evening   | am Abend          | present past future
in summer        | im Sommer         | present past future
in winter        | im Winter         | present past future
at eight o'clock | um acht Uhr       | present past future
at ten o'clock   | um zehn Uhr       | present past future
last year        | letztes Jahr      | past
last week        | letzte Woche      | past
"""
AGO_TABLE = """
days   Tagen
weeks  Wochen
months Monaten
years  Jahren
"""

FREQUENCIES = (("often", "oft"), ("always", "immer"), ("sometimes", "manchmal"), ("never", "nie"))

# English subject, object and possessive; agreement; German nominative, accusative, dative
PRONOUN_TABLE = """
I    me   my    0 ich mich mir
you  you  your  1 du  dich dir
he   him  his   2 er  ihn  ihm
she  her  her   2 sie sie  ihr
we   us   our   3 wir uns  uns
they them their 3 sie sie  ihnen
"""
NAME_TABLE = (("Anna", "her"), ("Maria", "her"), ("Sarah", "her"), ("Peter", "his"), ("Paul", "his"), ("David", "his"))


def _rows(table: str, separator: str | None = None) -> list[tuple[str, list[str]]]:
    """Every row's cells, each row with the heading that it stands under."""
    heading, rows = "", []
    for line in table.strip().splitlines():
        if line.startswith("["):
            heading = line.strip("[]")
        else:
            rows.append((heading, [cell.strip() for cell in line.split(separator)]))
    return rows


def _optional(cell: str) -> str:
    return "" if cell == "-" else cell


def _verbs(table: str) -> tuple[Verb, ...]:
    return tuple(_verb(heading, cells) for heading, cells in _rows(table, "/"))


def _verb(heading: str, cells: list[str]) -> Verb:
    frame, _, traits = heading.partition(";")
    subjects, _, complement = frame.partition("->")
    case, *objects = complement.split() or [""]
    if case in ("that", "whether"):
        case, objects = "", [case, *objects]
    prefix, _, bare_infinitive = cells[2].rpartition("|")
    auxiliary, participle = cells[4].split()
    present = tuple(cells[3].split())
    return Verb(
        english=cells[0],
        english_past=cells[1],
        prefix=prefix,
        bare_infinitive=bare_infinitive,
        present=present if len(present) > 1 else _present(bare_infinitive, cells[3]),
        participle=participle,
        auxiliary={"hat": "haben", "ist": "sein"}[auxiliary],
        preterite=_preterite(cells[5]) if len(cells) > 5 else (),
        subjects=tuple(subjects.split()),
        case=case,
        objects=tuple(objects),
        traits=frozenset(traits.split()),
    )


def _present(infinitive: str, third: str) -> tuple[str, ...]:
    """ich, du, er and wir: the changed stem of the er-form is also that of the du-form (liest, gibst, findest)."""
    stem = third[:-1]
    second = third if stem[-1] in "sßz" else stem + "st"
    return (infinitive[:-1], second, third, infinitive)


def _preterite(first: str) -> tuple[str, ...]:
    return (first, first + "st", first, first + ("n" if first.endswith("e") else "en"))


GENDERS = {"der": "m", "die": "f", "das": "n"}
NOUNS = tuple(
    Noun(kind, english, _optional(plural), GENDERS[article], german, _optional(german_plural), genitive)
    for kind, (english, plural, article, german, german_plural, genitive) in _rows(NOUN_TABLE)
)
NOUN_BY_ENGLISH = {noun.english: noun for noun in NOUNS}
ADJECTIVES = tuple(
    Adjective(english, german, stem, frozenset(kinds.split()), _optional(degree))
    for kinds, (english, german, stem, degree) in _rows(ADJECTIVE_TABLE)
)
BARE = Determiner("", "", "", "none", "strong")
COUNTED = Determiner("", "", "", "count", "strong")
THE_COUNTED = Determiner("", "the", "d", "article", "weak")
HOW_MANY = Determiner("", "how many", "wie viel", "dieser", "strong")
DETERMINERS = {
    cells[0] if cells[0] != "-" else cells[1]: Determiner(_optional(cells[0]), _optional(cells[1]), *cells[2:])
    for _, cells in _rows(DETERMINER_TABLE)
}
_NUMBER_WORDS = NUMBER_TABLE.split()
NUMBERS = tuple(zip(_NUMBER_WORDS[::2], _NUMBER_WORDS[1::2], strict=True))
OWNERS = tuple(Determiner(f"{name}'s", f"{name}'s", f"{name}s", "none", "strong") for name, _ in NAME_TABLE)
VERBS = _verbs(VERB_TABLE)
GIVING_VERBS = _verbs(GIVING_TABLE)
SAYING_VERBS = _verbs(SAYING_TABLE)
BE, TRY = _verbs(OTHER_VERB_TABLE)
TEMPORARY = ("hungry", "tired", "happy", "sad", "sick", "hot", "cold", "dirty", "broken", "quiet")
AUXILIARIES = {"haben": _present("haben", "hat"), "sein": BE.present}
MODALS = tuple(
    Modal(cells[0], _optional(cells[1]), tuple(cells[2].split()), () if cells[3] == "-" else _preterite(cells[3]))
    for _, cells in _rows(MODAL_TABLE, "/")
)
PLACES = tuple(
    Place(NOUN_BY_ENGLISH[name], english, german, goal, frozenset(uses.split()))
    for _, (words, uses) in _rows(PLACE_TABLE, "|")
    for name, english, german, goal in [words.split()]
)
PAST_MODALS = tuple(modal for modal in MODALS if modal.past)
FIXED_PLACES = tuple(
    FixedPlace((cells[0], cells[1]), (cells[2], cells[3]), (cells[4], cells[5]), frozenset(cells[6].split()))
    for _, cells in _rows(FIXED_PLACE_TABLE, "|")
)
SPOTS = tuple((english, german) for _, (english, german) in _rows(SPOT_TABLE, "|"))
TIMES = tuple((english, german, tuple(tenses.split())) for _, (english, german, tenses) in _rows(TIME_TABLE, "|"))
AGO_UNITS = tuple((english, german) for _, (english, german) in _rows(AGO_TABLE))
_PRONOUN_ROWS = tuple(tuple(cells) for _, cells in _rows(PRONOUN_TABLE))

# What the rules draw from. A word is repeated here to be drawn more often.

PEOPLE = ("person", "kin")
OWNED_KINDS = ("vehicle", "clothing", "reading", "thing", "animal", "room")
KINDS = tuple(dict.fromkeys(noun.kind for noun in NOUNS))
NOUNS_BY_KIND = {kind: tuple(noun for noun in NOUNS if noun.kind == kind) for kind in KINDS}
NOUNS_BY_KIND |= {noun.english: (noun,) for noun in NOUNS}
NOUNS_BY_KIND["person"] += NOUNS_BY_KIND["kin"]
TENSES = ("present", "present", "past")
TIMES_BY_TENSE = {
    tense: tuple((english, german) for english, german, tenses in TIMES if tense in tenses)
    for tense in ("present", "past", "future")
}
DESTINATIONS = ("walk", "drive", "trip")
PLACE_USES = ("place", "seat", "site", "home", "arrival", *DESTINATIONS, "origin", "spot")
ALL_PLACES: tuple[Place | FixedPlace, ...] = (*PLACES, *FIXED_PLACES)
PLACES_BY_USE = {
    use: tuple(place for place in ALL_PLACES if {"origin": "drive"}.get(use, use) in place.uses) for use in PLACE_USES
}
PRONOUN_CLASHES = {"I": ("I", "we"), "we": ("I", "we"), "you": ("you",)}
CLASHES = PRONOUN_CLASHES | dict.fromkeys(("he", "she", "they"), ("he", "she", "they"))
RELATIVE_PRONOUNS = {
    "m": ("der", "den", "dem", ""),
    "f": ("die", "die", "der", ""),
    "n": ("das", "das", "dem", ""),
    "p": ("die", "die", "denen", ""),
}
CONJUNCTIONS = (  # English, German, the tense of both clauses if it matters
    ("because", "weil", ""),
    ("because", "weil", ""),
    ("although", "obwohl", ""),
    ("when", "wenn", "present"),
    ("when", "als", "past"),
    ("if", "wenn", "present"),
)
REPORT_WORDS = {"that": "dass", "whether": "ob", "why": "warum", "where": "wo"}


def both(first: NounPhrase, second: NounPhrase) -> NounPhrase:
    english, german = f"{first.english} and {second.english}", f"{first.german[0]} und {second.german[0]}"
    return NounPhrase(english, english, (german,) * len(CASES), PLURAL, possessor="their")


WHO = NounPhrase("who", "who", ("wer", "wen", "wem", "wessen"))
PRONOUNS = tuple(
    NounPhrase(subject, form, (*german, ""), int(agreement), "pronoun", possessive)
    for subject, form, possessive, agreement, *german in _PRONOUN_ROWS
)
NAMES = tuple(NounPhrase(name, name, (name,) * len(CASES), kind="named", possessor=owner) for name, owner in NAME_TABLE)


def _about(noun: Noun, kinds: Iterable[str]) -> bool:
    return noun.kind in kinds or noun.english in kinds or (noun.kind == "kin" and "person" in kinds)


ADJECTIVES_OF = {noun: tuple(word for word in ADJECTIVES if _about(noun, word.kinds)) for noun in NOUNS}
PLACE_TRAIT = {  # with "!" where the verb must have a place
    verb: next((trait for use in PLACE_USES for trait in (use, f"{use}!") if trait in verb.traits), "")
    for verb in (*VERBS, *GIVING_VERBS, BE, TRY)
}
DRAWN_VERBS = (*VERBS, *GIVING_VERBS, *GIVING_VERBS, *(BE,) * 8)
PERSON_VERBS = tuple(verb for verb in DRAWN_VERBS if "person" in verb.subjects)
OBJECT_VERBS = tuple(verb for verb in VERBS if verb.case in ("accusative", "dative"))
GOAL_VERBS = tuple(verb for verb in VERBS if any(f"{use}!" in verb.traits for use in DESTINATIONS))
_WHERE_TRAITS = {"place", "place!", "home!", "arrival!", "seat!"}
WHERE_VERBS = (*(verb for verb in VERBS if verb.traits & _WHERE_TRAITS and "stative" not in verb.traits), *(BE,) * 3)
TIMED_VERBS = tuple(verb for verb in VERBS if "stative" not in verb.traits)
PURPOSES = tuple(
    verb
    for verb in (*VERBS, *GIVING_VERBS)
    if "person" in verb.subjects
    and not verb.traits & {"stative", "unwilled"}
    and not any(trait.endswith("!") for trait in verb.traits)
)
EPISODES = tuple(verb for verb in PERSON_VERBS if "stative" not in verb.traits or verb is BE)
ADVERB_QUESTIONS = (
    ("where", "wo", WHERE_VERBS, "place"),
    ("where", "wohin", GOAL_VERBS, "place"),
    ("when", "wann", TIMED_VERBS, "time"),
    ("why", "warum", DRAWN_VERBS, ""),
    ("why", "warum", DRAWN_VERBS, ""),
)
VERBS_OF_SUBJECT = {noun: tuple(verb for verb in VERBS if _about(noun, verb.subjects)) for noun in NOUNS}
VERBS_OF_OBJECT = {noun: tuple(verb for verb in OBJECT_VERBS if _about(noun, verb.objects)) for noun in NOUNS}


def _choices(words: str) -> tuple[tuple[Determiner | None, bool], ...]:
    """Determiners, each with whether it is plural ("+"); None stands for a possessive, to be chosen."""
    named = DETERMINERS | {"bare": BARE, "number": COUNTED, "the-number": THE_COUNTED}
    return tuple((None if word.strip("+") == "own" else named[word.strip("+")], "+" in word) for word in words.split())


DETERMINERS_OF = {
    "subject": _choices(
        "the the the the the the the+ the+ the+ a a this this+ every no all+ many+ some+ number+ the-number+"
    ),
    "head": _choices("the the the the+ the+ a"),
    "kin": _choices("own own own own own own+ the the+"),
    "the": _choices("the the the this"),
    "unowned": _choices("the the the the+ a a"),
    "object": _choices(
        "the the the the the+ the+ a a a a own own own own+ number+ number+ bare+ bare+ this this+ many+ some+"
    ),
    "plain": _choices("the the the the+ a a own own own"),
    "definite": _choices("the the the the+ own own this"),
    "generic": _choices("bare+ bare+ the the+ own"),
    "which": ((DETERMINERS["which"], False),),
    "how many": ((HOW_MANY, True),),
    "compared": _choices("the the the the+ this own"),
    "place": _choices("the the the the the the this"),
    "mass": _choices("bare bare bare the this"),
    "possessive": _choices("own"),
}

# What a sentence should not repeat: every form of a noun or verb, with the word that it is a form of.
LEMMAS = {form: noun.english for noun in NOUNS for form in (noun.english, noun.english_plural) if form}
LEMMAS |= {
    form.split()[0]: verb.english.split()[0]
    for verb in (*VERBS, *GIVING_VERBS, *SAYING_VERBS, TRY)
    for form in (verb.english, verb.english_past, english_third_person(verb.english))
}
LEMMAS |= {word: word for word in (*(adjective.english for adjective in ADJECTIVES), *(name for name, _ in NAME_TABLE))}
LEMMAS["very"] = "very"


class Phrases:
    """Draws noun phrases and what is made of them: companions, places and times."""

    def __init__(self, random: Random) -> None:
        self.random = random.random

    def chance(self, probability: float) -> bool:
        """True as often as the probability says."""
        return self.random() < probability

    def pick(self, items: Sequence[Item]) -> Item:
        """One of the items."""
        return items[int(self.random() * len(items))]

    def noun(self, kinds: Sequence[str]) -> Noun:
        """A noun of one of the kinds."""
        return self.pick(NOUNS_BY_KIND[self.pick(kinds)])

    def noun_phrase(
        self, noun: Noun, group: str, owner: NounPhrase | None = None, is_negated: bool = False, is_head: bool = False
    ) -> NounPhrase:
        """A phrase with a determiner of the group; a head takes no genitive, since a relative clause will follow."""
        determiner, plural = self.pick(DETERMINERS_OF[group])
        determiner = determiner or self.possessive(owner)
        plural = plural and noun.english not in ("mother", "father")
        number = self.number() if determiner in (COUNTED, THE_COUNTED) else ("", "")
        adjectives = self.adjectives(noun)
        is_very = len(adjectives) == 1 and bool(adjectives[0].degree) and self.chance(0.12)
        described = ("very" * is_very, *(adjective.english for adjective in adjectives))
        words = join(number[0], *described, noun.english_plural if plural else noun.english)
        article = indefinite_article(words) if determiner.singular == "a" else ""
        english = join(article or (determiner.plural if plural else determiner.singular), words)
        german_determiner = DETERMINERS["no"] if is_negated and determiner.kind == "indefinite" else determiner
        german = german_noun_phrase(german_determiner, number[1], is_very, adjectives, noun, plural)
        if determiner.singular == "the" and noun.kind in OWNED_KINDS and not is_head and self.chance(0.12):
            holder = self.noun(("person",))
            genitive = german_noun_phrase(DETERMINERS["the"], "", False, (), holder, False)[CASES.index("genitive")]
            english, german = f"{english} of the {holder.english}", tuple(f"{case} {genitive}" for case in german)
        possessor = ""
        if noun.kind in PEOPLE:
            possessor = "their" if plural else {"m": "his", "f": "her"}.get(noun.gender, "")
        agreement = PLURAL if plural else THIRD
        return NounPhrase(english, english, german, agreement, determiner.kind, possessor, noun=noun)

    def number(self) -> tuple[str, str]:
        """A number word, mostly a small one."""
        return self.pick(NUMBERS[: self.pick((4, 4, 11, 19))])

    def possessive(self, owner: NounPhrase | None) -> Determiner:
        """A possessive; within a clause, he and she are mostly its subject, so others' things are not "his" or "her"."""
        if owner and owner.possessor and self.chance(0.7):
            return DETERMINERS[owner.possessor]
        if self.chance(0.15):
            return self.pick(OWNERS)
        return DETERMINERS[self.pick(("my", "your", "our") if owner else ("my", "your", "our", "his", "her", "their"))]

    def adjectives(self, noun: Noun) -> tuple[Adjective, ...]:
        """No, one or two adjectives; of two, the second is a color, so that German needs no comma between them."""
        candidates = ADJECTIVES_OF[noun]
        if not candidates or not self.chance(0.35):
            return ()
        first, second = self.pick(candidates), self.pick(candidates)
        is_color = "color" in second.kinds and "color" not in first.kinds
        return (first, second) if is_color and self.chance(0.5) else (first,)

    def person(self, subject: NounPhrase) -> NounPhrase:
        """Somebody other than the subject."""
        draw = self.random()
        if draw < 0.35:
            return self.pick([word for word in PRONOUNS if word.english not in CLASHES.get(subject.english, ())])
        if draw < 0.5:
            return self.pick(NAMES)
        noun = self.noun(("person",))
        return self.noun_phrase(noun, "kin" if noun.kind == "kin" else "the", subject)

    def recipient(self, subject: NounPhrase) -> Constituent:
        """To whom something is given."""
        phrase = self.person(subject)
        slot = phrase.kind if phrase.kind in ("pronoun", "named") else "dative"
        return Constituent(phrase.english_object, phrase.case("dative"), slot)

    def companion(self, subject: NounPhrase) -> Constituent:
        """With whom."""
        phrase = self.person(subject)
        return Constituent(f"with {phrase.english_object}", with_preposition("mit", phrase.case("dative")), "company")

    def beneficiary(self, subject: NounPhrase) -> Constituent:
        """For whom."""
        phrase = self.person(subject)
        return Constituent(f"for {phrase.english_object}", f"für {phrase.case('accusative')}", "benefit")

    def place(self, use: str, subject: NounPhrase) -> Constituent:
        """Where, where to or where from."""
        if use == "spot":
            return self.spot()
        place = self.pick(PLACES_BY_USE[use])
        slot = "goal" if use in (*DESTINATIONS, "origin") else "place"
        if isinstance(place, FixedPlace):
            words = place.origin if use == "origin" else place.goal if slot == "goal" else place.there
            return Constituent(*words, slot)
        is_own = place.noun.kind == "room" and self.chance(0.3)
        phrase = self.noun_phrase(place.noun, "possessive" if is_own else "place", subject)
        english, german, case = place.english, place.german, "dative"
        if use == "origin":
            english, german = "from", place.origin
        elif slot == "goal":
            english, german, case = "to", place.goal, "accusative" if place.goal == "in" else "dative"
        return Constituent(f"{english} {phrase.english}", with_preposition(german, phrase.case(case)), slot)

    def spot(self) -> Constituent:
        """Where on, under or beside a piece of furniture."""
        english, german = self.pick(SPOTS)
        phrase = self.noun_phrase(self.noun(("furniture",)), "place")
        return Constituent(f"{english} {phrase.english}", with_preposition(german, phrase.case("dative")), "place")

    def time(self, clause: Clause) -> tuple[str, str]:
        """When, as the tense of the clause allows."""
        tense = "future" if clause.modal and clause.tense == "present" else clause.tense
        if tense == "past" and self.chance(0.2):
            number, unit = self.pick(NUMBERS[:9]), self.pick(AGO_UNITS)
            return f"{number[0]} {unit[0]} ago", f"vor {number[1]} {unit[1]}"
        return self.pick(TIMES_BY_TENSE[tense])
