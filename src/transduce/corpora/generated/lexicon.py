"""The words of the small English-German grammar, as tables, and the groups of words that its rules draw from."""

from collections.abc import Iterable

from transduce.corpora.generated.inflection import (
    Adjective,
    Determiner,
    FixedPlace,
    Modal,
    Noun,
    Place,
    Verb,
    english_third_person,
    present_forms,
    preterite_forms,
)

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
office     in in  in | place seat walk
garden     in in  in | place seat walk
park       in in  in | place seat site walk
school     at in  zu | place site walk
station    at an  zu | place seat site arrival walk
museum     in in  in | place site walk
city       in in  in | place home arrival walk trip
village    in in  in | place home arrival walk trip
forest     in in  in | place seat home walk
market     at auf zu | place site walk
restaurant in in  in | place seat site walk
lake       at an  zu | place seat site arrival walk trip
hospital   in in  in | place site walk
"""

# being there, going there, coming from there; what one does there
FIXED_PLACE_TABLE = """
in Berlin | in Berlin | to Berlin | nach Berlin | from Berlin | aus Berlin | place home arrival trip
in Vienna | in Wien | to Vienna | nach Wien | from Vienna | aus Wien | place home arrival trip
in Italy | in Italien | to Italy | nach Italien | from Italy | aus Italien | place home trip
at the baker's  | beim Bäcker | to the baker's | zum Bäcker   | from the baker's  | vom Bäcker  | site walk
at the doctor's | beim Arzt  | to the doctor's | zum Arzt     | from the doctor's | vom Arzt    | site walk
"""

SPOT_TABLE = """
on      | auf
under   | unter
next to | neben
behind  | hinter
"""

# English, German, stem before endings, comparative ("-": no degrees); the heading names the kinds of nouns, and with
# "-" the nouns left out
ADJECTIVE_TABLE = """
[person kin animal vehicle transport clothing reading device thing opening furniture room site -child -boy -girl -lake]
old          alt          alt         älter
[person kin animal -boy]
young        jung         jung        jünger
[person kin animal]
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
[animal food vehicle transport clothing device thing opening furniture room site]
big          groß         groß        größer
small        klein        klein       kleiner
[vehicle transport clothing book letter device thing opening furniture room site film tale -village -forest -lake]
new          neu          neu         neuer
[vehicle clothing thing room site event reading tale animal -newspaper]
beautiful    schön        schön       schöner
[food meal vehicle clothing book newspaper device thing furniture]
cheap        billig       billig      billiger
[vehicle clothing book device thing furniture]
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
[book letter tale event]
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
# stative: no modals and no time; unwilled: no modals; aimless: not what one tries to do;
# errandless: not what one goes somewhere for;
# object determiners: definite, generic (also bare plurals), plain (no numbers).
# Columns: English, past, German (prefix|infinitive), er-form or ich, du, er, wir, participle with haben or sein,
# preterite where Germans use it rather than the perfect.
VERB_TABLE = """
[person animal -> ; place]
sleep       / slept       / schlafen      / schläft  / hat geschlafen
[person -> ; place company]
work        / worked      / arbeiten      / arbeitet / hat gearbeitet
sing        / sang        / singen        / singt    / hat gesungen
dance       / danced      / tanzen        / tanzt    / hat getanzt
[person -> ; company aimless]
laugh       / laughed     / lachen        / lacht    / hat gelacht
[person -> ; company]
watch TV    / watched TV  / fern|sehen    / sieht    / hat ferngesehen
[person -> ; errandless]
get up      / got up      / auf|stehen    / steht    / ist aufgestanden
come back   / came back   / zurück|kommen / kommt    / ist zurückgekommen
[person -> ; place unwilled]
fall asleep / fell asleep / ein|schlafen  / schläft  / ist eingeschlafen
[person -> ; home! stative]
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
[person -> ; origin! unwilled]
come        / came        / kommen        / kommt    / ist gekommen
[reading thing dog cat -> ; spot! unwilled]
lie         / lay         / liegen        / liegt    / hat gelegen
[transport -> ; ]
depart      / departed    / ab|fahren     / fährt    / ist abgefahren
[event -> ; unwilled]
begin       / began       / an|fangen     / fängt    / hat angefangen
[person -> accusative food meal clothing vehicle book newspaper device thing furniture ; benefit]
buy         / bought      / kaufen        / kauft    / hat gekauft
[person -> accusative food clothing vehicle book newspaper device thing furniture ; ]
sell        / sold        / verkaufen     / verkauft / hat verkauft
[person -> accusative person animal vehicle thing transport ; place unwilled]
see         / saw         / sehen         / sieht    / hat gesehen
[person -> accusative animal thing clothing ; place unwilled]
find        / found       / finden        / findet   / hat gefunden
[person -> accusative person animal ; definite unwilled]
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
[person -> accusative thing clothing person animal ; place aimless]
look for    / looked for  / suchen        / sucht    / hat gesucht
[person -> accusative thing clothing reading tale ; definite unwilled]
forget      / forgot      / vergessen     / vergisst / hat vergessen
[person -> accusative thing clothing reading ; definite unwilled]
lose        / lost        / verlieren     / verliert / hat verloren
[person -> accusative food meal ; place company]
eat         / ate         / essen         / isst     / hat gegessen
[person -> accusative drink ; place company]
drink       / drank       / trinken       / trinkt   / hat getrunken
[person -> accusative reading tale ; place]
read        / read        / lesen         / liest    / hat gelesen
[person -> accusative book letter tale ; place]
write       / wrote       / schreiben     / schreibt / hat geschrieben
[person -> accusative clothing ; plain aimless]
wear        / wore        / tragen        / trägt    / hat getragen
[person -> accusative clothing ; plain]
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
[person -> dative person ; definite errandless]
answer      / answered    / antworten     / antwortet / hat geantwortet
[person -> dative person ; definite]
listen to   / listened to / zu|hören      / hört     / hat zugehört
[person animal -> dative person animal ; definite errandless]
follow      / followed    / folgen        / folgt    / ist gefolgt
[vehicle thing animal clothing reading -> dative person ; definite stative]
belong to   / belonged to / gehören       / gehört   / hat gehört     / gehörte
[person -> auf+accusative person ; definite site]
wait for    / waited for  / warten        / wartet   / hat gewartet
[person -> auf+accusative transport ; definite arrival errandless]
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
        present=present if len(present) > 1 else present_forms(bare_infinitive, cells[3]),
        participle=participle,
        auxiliary={"hat": "haben", "ist": "sein"}[auxiliary],
        preterite=preterite_forms(cells[5]) if len(cells) > 5 else (),
        subjects=tuple(subjects.split()),
        case=case,
        objects=tuple(objects),
        traits=frozenset(traits.split()),
    )


PRONOUN_ROWS = tuple(tuple(cells) for _, cells in _rows(PRONOUN_TABLE))
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
MODALS = tuple(
    Modal(cells[0], _optional(cells[1]), tuple(cells[2].split()), () if cells[3] == "-" else preterite_forms(cells[3]))
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
TIMES_BY_TENSE |= {
    f"denied {tense}": tuple(time for time in times if not time[0].startswith("every"))
    for tense, times in TIMES_BY_TENSE.items()
}
PLACE_USES = ("place", "seat", "site", "home", "arrival", *DESTINATIONS, "origin", "spot")
ALL_PLACES: tuple[Place | FixedPlace, ...] = (*PLACES, *FIXED_PLACES)
PLACES_BY_USE = {use: tuple(place for place in ALL_PLACES if use in place.uses) for use in PLACE_USES}
PLACES_BY_USE["drive"] = tuple(
    place
    for place in ALL_PLACES
    if "trip" in place.uses or ("walk" in place.uses and not (isinstance(place, Place) and place.noun.kind == "room"))
)
PLACES_BY_USE["origin"] = PLACES_BY_USE["drive"]
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


def _about(noun: Noun, kinds: Iterable[str]) -> bool:
    is_meant = noun.kind in kinds or noun.english in kinds or (noun.kind == "kin" and "person" in kinds)
    return is_meant and f"-{noun.english}" not in kinds


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
WHERE_VERBS = (*(verb for verb in VERBS if verb.traits & _WHERE_TRAITS), *(BE,) * 3)
TIMED_VERBS = tuple(verb for verb in VERBS if "stative" not in verb.traits)
PURPOSES = tuple(
    verb
    for verb in (*VERBS, *GIVING_VERBS)
    if "person" in verb.subjects
    and not verb.traits & {"stative", "unwilled", "aimless"}
    and not any(trait.endswith("!") for trait in verb.traits)
)
ERRANDS = tuple(verb for verb in PURPOSES if verb.traits.isdisjoint(("plain", "errandless")))
EPISODES = tuple(verb for verb in PERSON_VERBS if "stative" not in verb.traits or verb is BE)
ADVERB_QUESTIONS = (
    ("where", "wo", WHERE_VERBS, "place"),
    ("where", "wohin", GOAL_VERBS, "place"),
    ("when", "wann", TIMED_VERBS, "time"),
    ("why", "warum", DRAWN_VERBS, ""),
    ("why", "warum", DRAWN_VERBS, ""),
)
VERBS_OF_SUBJECT = {noun: tuple(verb for verb in VERBS if _about(noun, verb.subjects)) for noun in NOUNS}
VERBS_OF_OBJECT = {
    noun: tuple(verb for verb in OBJECT_VERBS if _about(noun, verb.objects) and "person" in verb.subjects)
    for noun in NOUNS
}


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
    "plain for many": _choices("the the the the+ the+ own+ own+ own+"),
    "definite": _choices("the the the the+ own own this"),
    "generic": _choices("bare+ bare+ the the+ own"),
    "which": ((DETERMINERS["which"], False),),
    "how many": ((HOW_MANY, True),),
    "compared": _choices("the the the the+ this"),
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
