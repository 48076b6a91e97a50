"""Projects: names, languages and files that cannot be, and damaged stores."""

from bad_inputs.damages import cut, empty, garbage, remove, replace, write
from bad_inputs.row import Damage, row

TMX = (
    '<tmx version="1.4"><header srclang="en"/><body><tu><tuv xml:lang="en"><seg>The dog sleeps.</seg></tuv>'
    '<tuv xml:lang="de"><seg>Der Hund schläft.</seg></tuv></tu></body></tmx>\n'
)
SHOP, SETTINGS, STORE = "projects/shop", "projects/shop/project.toml", "projects/shop/project.sqlite"
QUALITY = "translate run test.en --quality"
NEW = "--from en --to de"
GIVEN = write("a.tmx", TMX)

FRENCH = (
    '<xliff version="1.2"><file source-language="en" target-language="fr"><body>'
    "<trans-unit id='1'><source>dog</source></trans-unit></body></file></xliff>"
)

MISTAKEN: tuple[tuple[str, str, tuple[Damage, ...]], ...] = (
    ("learn", "PROJECT", ()),
    (f"learn {SHOP}", "FILE", ()),
    ("learn nowhere a.tmx", "no such project", (GIVEN,)),
    ("learn nowhere a.tmx --from en", "--from and --to", (GIVEN,)),
    ("learn nowhere missing.tmx --from en --to de", "missing.tmx: cannot be opened", ()),
    ("learn nowhere a.tmx --from en --to fr", "no translations", (GIVEN,)),
    ("learn nowhere a.tmx --from en --to en", "from one language to another", (GIVEN,)),
    (f"learn .hidden a.tmx {NEW}", "no name of a project", (GIVEN,)),
    (f"learn 'a b' a.tmx {NEW}", "no name of a project", (GIVEN,)),
    ("learn run a.tmx", "run is no project", (GIVEN,)),
    (f"learn test.en a.tmx {NEW}", "test.en is no project", (GIVEN,)),
    (f"learn {SHOP} a.tmx --to fr", "from en to de", (GIVEN,)),
    (f"learn {SHOP} missing.po", "missing.po: cannot be opened", ()),
    (f"learn {SHOP} test.en", "of the ending .tmx, .po", ()),
    (f"learn {SHOP} a.tmx", "not well-formed", (write("a.tmx", TMX[:150]),)),
    (f"learn {SHOP} a.tmx", "is empty", (write("a.tmx", ""),)),
    (f"learn {SHOP} a.tmx", "a.tmx", (garbage("a.tmx"),)),
    (f"learn {SHOP} a.xlf", "its target language is 'fr'", (write("a.xlf", FRENCH),)),
    (f"learn {SHOP} a.tmx", "project.sqlite: no such file", (GIVEN, remove(STORE))),
    (f"learn {SHOP} a.tmx", "project.sqlite is damaged", (GIVEN, cut(STORE))),
    (f"learn {SHOP} a.tmx", "project.sqlite is damaged", (GIVEN, garbage(STORE))),
    (f"learn {SHOP} a.tmx", "another program's", (GIVEN, empty(STORE))),
    (f"learn {SHOP} a.tmx", "is no project", (GIVEN, remove(SETTINGS))),
    (f"learn {SHOP} a.tmx", "'source' is missing", (GIVEN, empty(SETTINGS))),
    (f"learn {SHOP} a.tmx", "did you mean 'target'", (GIVEN, replace(SETTINGS, "target", "tarqet"))),
    (f"learn {SHOP} a.tmx", "did you mean 'rank'", (GIVEN, replace(SETTINGS, "rank = 8", "rang = 8"))),
    (f"learn {SHOP} a.tmx", "'hold_out'", (GIVEN, replace(SETTINGS, "rank = 8", "rank = 8\nhold_out = 3"))),
    ("serve run --projects test.en", "test.en is no folder", ()),
    (f"translate run test.en --project {SHOP}", "project.sqlite is damaged", (cut(STORE),)),
    (f"translate run test.en --project {SHOP}", "project.toml: cannot be read as UTF-8", (garbage(SETTINGS),)),
    ("translate run test.en --project nowhere", "nowhere is no project", ()),
    ("translate run test.en --project run", "run is no project", ()),
    (f"translate run test.en --project {SHOP} --then run", "a project teaches one model", ()),
    # Past edits
    (f"{QUALITY} {SHOP} --quiet", "of the JSON output; add --json", ()),
    ("translate run a.md --quality e.tsv", "add --log FILE", (write("a.md", "# The dog\n"),)),
    (f"{QUALITY} missing.tsv --json", "missing.tsv: no such file or folder", ()),
    (f"{QUALITY} test.en --json", "past edits are in a project", ()),
    (f"{QUALITY} run --json", "run is no project", ()),
    (f"{QUALITY} {SHOP} --json", "project.sqlite is damaged", (cut(STORE),)),
    (
        f"{QUALITY} e.tsv --json",
        "e.tsv: line 1 has 2 columns; expected source, machine, target",
        (write("e.tsv", "a\tb\n"),),
    ),
    (f"{QUALITY} e.tsv --json", "e.tsv: line 1 is not UTF-8", (write("e.tsv", b"\xff\tb\tc\n"),)),
    (f"{QUALITY} e.tsv --json", "e.tsv: it has no edits", (write("e.tsv", "source\tmachine\ttarget\n\n"),)),
    (f"{QUALITY} e.jsonl --json", "line 1 has no text under 'machine'", (write("e.jsonl", '{"source": "a"}\n'),)),
    (f"{QUALITY} e.jsonl --json", "line 1 is not JSON", (write("e.jsonl", "a\tb\tc\n"),)),
    (f"{QUALITY} e.tsv --json --with run", "only a single model", (write("e.tsv", "a\tb\tc\n"),)),
)
ROWS = [
    row(f"projects: {number}: {command}", command, 2, words, *damages, leaves=("projects/.lock", "other/.lock"))
    for number, (command, words, damages) in enumerate(MISTAKEN)
]
