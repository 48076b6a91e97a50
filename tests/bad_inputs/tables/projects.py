"""Projects: names, languages and files that cannot be, and damaged stores."""

from bad_inputs.damages import cut, empty, remove, replace, write
from bad_inputs.row import Damage, row

TMX = (
    '<tmx version="1.4"><header srclang="en"/><body><tu><tuv xml:lang="en"><seg>The dog sleeps.</seg></tuv>'
    '<tuv xml:lang="de"><seg>Der Hund schläft.</seg></tuv></tu></body></tmx>\n'
)
SHOP, SETTINGS, STORE = "projects/shop", "projects/shop/project.toml", "projects/shop/project.sqlite"
QUALITY = "translate run test.en --quality"
NEW = "--from en --to de"
GIVEN = write("a.tmx", TMX)


MISTAKEN: tuple[tuple[str, str, tuple[Damage, ...]], ...] = (
    ("learn nowhere a.tmx", "no such project", (GIVEN,)),
    ("learn nowhere a.tmx --from en --to fr", "no translations", (GIVEN,)),
    ("learn nowhere a.tmx --from en --to en", "from one language to another", (GIVEN,)),
    (f"learn .hidden a.tmx {NEW}", "no name of a project", (GIVEN,)),
    ("learn run a.tmx", "run is no project", (GIVEN,)),
    (f"learn {SHOP} a.tmx --to fr", "from en to de", (GIVEN,)),
    (f"learn {SHOP} test.en", "of the ending .tmx, .po", ()),
    (f"learn {SHOP} a.tmx", "project.sqlite: no such file", (GIVEN, remove(STORE))),
    (f"learn {SHOP} a.tmx", "project.sqlite is damaged", (GIVEN, cut(STORE))),
    (f"learn {SHOP} a.tmx", "another program's", (GIVEN, empty(STORE))),
    (f"learn {SHOP} a.tmx", "'hold_out'", (GIVEN, replace(SETTINGS, "rank = 8", "rank = 8\nhold_out = 3"))),
    ("serve run --projects test.en", "test.en is no folder", ()),
    (f"translate run test.en --project {SHOP} --then run", "a project teaches one model", ()),
    # Past edits
    ("translate run a.md --quality e.tsv", "add --log FILE", (write("a.md", "# The dog\n"),)),
    (f"{QUALITY} e.tsv --json", "e.tsv: it has no edits", (write("e.tsv", "source\tmachine\ttarget\n\n"),)),
)
ROWS = [
    *(row(command, words, *damages, leaves=("projects/.lock", "other/.lock")) for command, words, damages in MISTAKEN),
]
