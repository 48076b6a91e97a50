"""The words of the small English-German grammar, as tables, and the forms of German words."""

from dataclasses import dataclass
from functools import cache

CASES = ("nominative", "accusative", "dative")
PERSONS = ("ich", "du", "er", "wir")  # the four that German verbs distinguish here; "they" agrees like "we"

# kind: English, plural, gender (w: a masculine noun that is weak), German, plural
NOUN_TABLE = """
person: man men m Mann Männer, woman women f Frau Frauen, boy boys w Junge Jungen, teacher teachers m Lehrer Lehrer
person: student students w Student Studenten, doctor doctors m Arzt Ärzte, farmer farmers w Bauer Bauern
person: tourist tourists w Tourist Touristen, guest guests m Gast Gäste, mother mothers f Mutter Mütter
person: father fathers m Vater Väter, brother brothers m Bruder Brüder, sister sisters f Schwester Schwestern
person: aunt aunts f Tante Tanten, uncle uncles m Onkel Onkel, friend friends m Freund Freunde
person: neighbor neighbors w Nachbar Nachbarn, colleague colleagues w Kollege Kollegen
animal: dog dogs m Hund Hunde, cat cats f Katze Katzen, horse horses n Pferd Pferde, bird birds m Vogel Vögel
animal: bear bears w Bär Bären
food: apple apples m Apfel Äpfel, egg eggs n Ei Eier, cake cakes m Kuchen Kuchen, potato potatoes f Kartoffel Kartoffeln
food: tomato tomatoes f Tomate Tomaten, banana bananas f Banane Bananen, soup soups f Suppe Suppen
clothing: coat coats m Mantel Mäntel, jacket jackets f Jacke Jacken, shirt shirts n Hemd Hemden, hat hats m Hut Hüte
clothing: dress dresses n Kleid Kleider, scarf scarves m Schal Schals
vehicle: car cars n Auto Autos, bicycle bicycles n Fahrrad Fahrräder, bus buses m Bus Busse, train trains m Zug Züge
vehicle: ship ships n Schiff Schiffe
reading: book books n Buch Bücher, letter letters m Brief Briefe, newspaper newspapers f Zeitung Zeitungen
reading: story stories f Geschichte Geschichten
device: lamp lamps f Lampe Lampen, computer computers m Computer Computer, radio radios n Radio Radios
opening: door doors f Tür Türen, window windows n Fenster Fenster
thing: key keys m Schlüssel Schlüssel, bag bags f Tasche Taschen
thing: picture pictures n Bild Bilder, ball balls m Ball Bälle
thing: gift gifts n Geschenk Geschenke, table tables m Tisch Tische, chair chairs m Stuhl Stühle, bed beds n Bett Betten
"""
# English, gender, German, preposition for being there (dative), for going there (in: accusative, zu: dative)
PLACE_TABLE = """
in garden m Garten in in, in kitchen f Küche in in, in house n Haus in in, in office n Büro in in, in park m Park in in
in city f Stadt in in, in forest m Wald in in, in museum n Museum in in, in hospital n Krankenhaus in in
at station m Bahnhof an zu, at lake m See an zu, at market m Markt auf auf
at school f Schule in in, in village n Dorf in in
"""
# English, its past, German infinitive without prefix, third person, participle, auxiliary, prefix; subjects; object
VERB_TABLE = """
sleep slept schlafen schläft geschlafen haben -; person animal;
laugh laughed lachen lacht gelacht haben -; person;
sing sang singen singt gesungen haben -; person animal;
dance danced tanzen tanzt getanzt haben -; person;
work worked arbeiten arbeitet gearbeitet haben -; person;
get_up got_up stehen steht aufgestanden sein auf; person;
go went gehen geht gegangen sein -; person; goal
drive drove fahren fährt gefahren sein -; person; goal
run ran laufen läuft gelaufen sein -; person animal; goal
come_back came_back kommen kommt zurückgekommen sein zurück; person animal;
see saw sehen sieht gesehen haben -; person animal; accusative: person animal vehicle thing reading
hear heard hören hört gehört haben -; person animal; accusative: person animal vehicle
look_for looked_for suchen sucht gesucht haben -; person; accusative: person animal thing clothing reading
find found finden findet gefunden haben -; person animal; accusative: person animal thing clothing reading food
buy bought kaufen kauft gekauft haben -; person; accusative: food clothing vehicle reading device thing
sell sold verkaufen verkauft verkauft haben -; person; accusative: food clothing vehicle reading device thing
need needed brauchen braucht gebraucht haben -; person; accusative: clothing vehicle reading device thing
eat ate essen isst gegessen haben -; person animal; accusative: food
cook cooked kochen kocht gekocht haben -; person; accusative: food
borrow borrowed leihen leiht ausgeliehen haben aus; person; accusative: reading clothing vehicle
write wrote schreiben schreibt geschrieben haben -; person; accusative: reading
wear wore tragen trägt getragen haben -; person; accusative: clothing
wash washed waschen wäscht gewaschen haben -; person; accusative: clothing vehicle animal
repair repaired reparieren repariert repariert haben -; person; accusative: vehicle device opening
open opened öffnen öffnet geöffnet haben -; person; accusative: opening
close closed schließen schließt geschlossen haben -; person; accusative: opening
turn_on turned_on schalten schaltet eingeschaltet haben ein; person; accusative: device
turn_off turned_off schalten schaltet ausgeschaltet haben aus; person; accusative: device
invite invited laden lädt eingeladen haben ein; person; accusative: person
call called rufen ruft angerufen haben an; person; accusative: person
pick_up picked_up holen holt abgeholt haben ab; person; accusative: person
ask asked fragen fragt gefragt haben -; person; accusative: person
visit visited besuchen besucht besucht haben -; person; accusative: person
help helped helfen hilft geholfen haben -; person; dative: person
thank thanked danken dankt gedankt haben -; person; dative: person
follow followed folgen folgt gefolgt sein -; person animal; dative: person animal vehicle
wait_for waited_for warten wartet gewartet haben -; person animal; auf accusative: person vehicle
talk_about talked_about sprechen spricht gesprochen haben -; person; über accusative: person reading vehicle
play_with played_with spielen spielt gespielt haben -; person animal; mit dative: person animal thing
give gave geben gibt gegeben haben -; person; recipient: food clothing reading thing
show showed zeigen zeigt gezeigt haben -; person; recipient: reading thing clothing animal
send sent schicken schickt geschickt haben -; person; recipient: reading thing
"""
SAYING_TABLE = """
say said sagen sagt gesagt haben -; person;
hope hoped hoffen hofft gehofft haben -; person;
believe believed glauben glaubt geglaubt haben -; person;
"""
# English, German, German stem where endings change it; kinds
ADJECTIVE_TABLE = """
old alt, young jung, big groß, small klein, beautiful schön, good gut: person animal
old alt, new neu, big groß, small klein, beautiful schön: thing clothing vehicle device reading
cheap billig, expensive teuer teur: thing clothing vehicle device reading
sad traurig, happy glücklich, tired müde müd, hungry hungrig, poor arm, strong stark: person
famous berühmt, friendly freundlich: person
tired müde müd, hungry hungrig, strong stark, white weiß, black schwarz: animal
red rot, blue blau, green grün, white weiß, black schwarz: thing clothing vehicle opening
dirty schmutzig, clean sauber: clothing vehicle opening
interesting interessant, boring langweilig, long lang: reading
cold kalt, hot heiß, good gut, big groß: food
old alt, big groß: opening
"""
# English singular, plural (-: none), German, pattern of its endings, of the adjectives that follow, of the phrase
DETERMINER_TABLE = """
the the d article weak definite, a - ein ein mixed indefinite, this these dies dieser weak definite
every - jed dieser weak quantified
my my mein ein mixed definite, your your dein ein mixed definite, his his sein ein mixed definite
her her ihr ein mixed definite
our our unser ein mixed definite, their their ihr ein mixed definite, no no kein ein mixed quantified
- some einig strong strong indefinite, - many viel strong strong indefinite, - all all dieser weak quantified
- two zwei none strong indefinite, - three drei none strong indefinite, - five fünf none strong indefinite
"""
ENDINGS = {  # pattern -> gender (p: plural) -> nominative, accusative, dative; "-" for none
    "article": {"m": "er en em", "f": "ie ie er", "n": "as as em", "p": "ie ie en"},
    "ein": {"m": "- en em", "f": "e e er", "n": "- - em", "p": "e e en"},
    "dieser": {"m": "er en em", "f": "e e er", "n": "es es em", "p": "e e en"},
    "weak": {"m": "e en en", "f": "e e en", "n": "e e en", "p": "en en en"},
    "mixed": {"m": "er en en", "f": "e e en", "n": "es es en", "p": "en en en"},
    "strong": {"m": "er en em", "f": "e e er", "n": "es es em", "p": "e e en"},
    "none": {"p": "- - -"},
}
# English subject, object; German in three cases; person
PRONOUN_TABLE = """
I me ich mich mir ich, you you du dich dir du, he him er ihn ihm er, she her sie sie ihr er, we us wir uns uns wir
they them sie sie ihnen wir
"""
NAMES = ("Anna", "Peter", "Paul", "Maria", "Sarah", "Thomas", "Julia", "Martin")
# English, its past (-: none), German forms of the present and of the past, for the four persons
MODAL_TABLE = """
can could kann kannst kann können konnte konntest konnte konnten
must had_to muss musst muss müssen musste musstest musste mussten
want_to wanted_to will willst will wollen wollte wolltest wollte wollten
should - sollte solltest sollte sollten - - - -
will - werde wirst wird werden - - - -
"""
TIMES = {  # the tenses that a time goes with
    "today": ("heute", "present past"), "now": ("jetzt", "present"), "every day": ("jeden Tag", "present past"),
    "yesterday": ("gestern", "past"), "last week": ("letzte Woche", "past"), "on Monday": ("am Montag", "present past"),
    "on Friday": ("am Freitag", "present past"), "in the morning": ("am Morgen", "present past"),
    "in the evening": ("am Abend", "present past"), "at eight o'clock": ("um acht Uhr", "present past"),
}  # fmt: skip
CONJUNCTIONS = {"because": "weil", "although": "obwohl", "if": "wenn"}
CONTRACTIONS = {"in dem": "im", "an dem": "am", "zu dem": "zum", "zu der": "zur", "in das": "ins"}
AUXILIARIES = {"haben": ("habe", "hast", "hat", "haben"), "sein": ("bin", "bist", "ist", "sind")}


@dataclass(frozen=True)
class Noun:
    """A noun and its German forms."""

    english: str
    english_plural: str
    gender: str
    german: str
    german_plural: str
    kind: str = "place"
    is_weak: bool = False

    def german_form(self, case: int, plural: bool) -> str:
        """Returns the form in a case: weak nouns end in -n or -en but in the nominative, other dative plurals in -n."""
        if plural:
            return f"{self.german_plural}n" if case == 2 and self.german_plural[-1] not in "ns" else self.german_plural
        return self.german_plural if self.is_weak and case else self.german


@dataclass(frozen=True)
class Adjective:
    """An adjective, with the stem that takes endings and the kinds of nouns that it describes."""

    english: str
    german: str
    stem: str
    kinds: frozenset[str]


@dataclass(frozen=True)
class Determiner:
    """A determiner of a noun phrase; `pattern` names its endings, `adjectives` those of adjectives after it."""

    singular: str
    plural: str
    german: str
    pattern: str
    adjectives: str
    kind: str


@dataclass(frozen=True)
class Place:
    """A noun as a place, with the prepositions for being there and for going there."""

    noun: Noun
    english: str
    german: str
    goal: str


@dataclass(frozen=True)
class Verb:
    """A verb with its forms, the kinds of its subjects, and its object."""

    english: str
    english_past: str
    infinitive: str
    present: tuple[str, ...]
    """The present forms for each of PERSONS, without the prefix."""
    participle: str
    auxiliary: str
    prefix: str
    """The prefix, which goes to the end of a main clause."""
    subjects: tuple[str, ...]
    object: str
    """The object: a case, a preposition and a case, `recipient` for two objects, `goal` for a place, or nothing."""
    objects: tuple[str, ...]


@dataclass(frozen=True)
class Modal:
    """A modal verb with its forms for each of PERSONS; those of the past are empty where there are none."""

    english: str
    english_past: str
    present: tuple[str, ...]
    past: tuple[str, ...]


@cache
def third_person(verb: str) -> str:
    """Returns the English third person singular of a verb that may be followed by a particle ("turn on")."""
    head, _, tail = verb.partition(" ")
    if head.endswith(("s", "sh", "ch", "x", "z", "o")):
        head += "es"
    elif head.endswith("y") and head[-2] not in "aeou":
        head = f"{head[:-1]}ies"
    else:
        head += "s"
    return f"{head} {tail}".strip()


def _present(infinitive: str, third: str) -> tuple[str, ...]:
    """Returns forms for PERSONS: the third person's changed stem is also the second's ("fährt", "fährst")."""
    return infinitive[:-1], third if third[-2] in "sßz" else f"{third[:-1]}st", third, infinitive


def _entries(table: str) -> list[str]:
    return [entry.strip() for line in table.strip().splitlines() for entry in line.split(",")]


def _kinds(table: str) -> list[tuple[list[str], str]]:
    """Returns the entries of each line before its colon, and the kinds after it."""
    lines = (line.rpartition(":") for line in table.strip().splitlines())
    return [(_entries(entries), kinds.strip()) for entries, _, kinds in lines]


def _noun(entry: str, kind: str) -> Noun:
    english, plural, gender, german, german_plural = entry.split()
    return Noun(english, plural, gender.replace("w", "m"), german, german_plural, kind, gender == "w")


def _verb(line: str) -> Verb:
    forms, subjects, objects = (part.strip() for part in line.split(";"))
    english, past, infinitive, third, participle, auxiliary, prefix = forms.split()
    case, _, kinds = objects.partition(":")
    return Verb(
        english.replace("_", " "),
        past.replace("_", " "),
        infinitive,
        _present(infinitive, third),
        participle,
        auxiliary,
        prefix.strip("-"),
        tuple(subjects.split()),
        case,
        tuple(kinds.split()),
    )


NOUNS = [
    _noun(entry, kind)
    for line in NOUN_TABLE.strip().splitlines()
    for kind, _, entries in [line.partition(":")]
    for entry in _entries(entries)
]
PLACES = [
    Place(Noun(noun, "", gender, german, ""), at, there, goal)
    for at, noun, gender, german, there, goal in map(str.split, _entries(PLACE_TABLE))
]
VERBS, SAYING_VERBS = ([_verb(line) for line in table.strip().splitlines()] for table in (VERB_TABLE, SAYING_TABLE))
TRY = _verb("try tried versuchen versucht versucht haben -; person;")
ADJECTIVES = [
    Adjective(words[0], words[1], words[-1], frozenset(kinds.split()))
    for entries, kinds in _kinds(ADJECTIVE_TABLE)
    for words in map(str.split, entries)
]
DETERMINERS = [Determiner(*(word.strip("-") for word in entry.split())) for entry in _entries(DETERMINER_TABLE)]
PRONOUNS = [entry.split() for entry in _entries(PRONOUN_TABLE)]
MODALS = [
    Modal(words[0].replace("_", " "), words[1].strip("-").replace("_", " "), tuple(words[2:6]), tuple(words[6:]))
    for words in map(str.split, MODAL_TABLE.strip().splitlines())
]
