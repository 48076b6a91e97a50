"""Pages that translate: engines that are missing or others, and folders in Firefox's form that no page can hold."""

from bad_inputs.damages import folder, remove, write
from bad_inputs.row import row

PAGE = "export firefox --to page -o t.html"
MODEL, VOCABULARY = "firefox/model.ende.intgemm.alphas.bin", "firefox/vocab.ende.spm"
METADATA, EXPORT = "firefox/metadata.json", "firefox/export.json"

ROWS = [
    row(
        PAGE,
        ("cannot be downloaded", "npm package", "(--engine)"),
        environment={"NPM_CONFIG_REGISTRY": "http://127.0.0.1:9"},
    ),
    row(f"{PAGE} --engine no.tgz", "no.tgz: no such file; expected the npm"),
    row(f"{PAGE} --engine test.en", ("test.en is not", "SHA-512", "npm pack")),
    row("export run -o x --engine a.tgz", "--engine is for a page"),
    row("export firefox --to page -o t", ("t: a page ends in .html", "t.html")),
    row("export firefox --to page -o t.html", "no such file", folder(MODEL), remove(EXPORT), remove(METADATA)),
    row(PAGE, "lex", write("firefox/lex.50.50.ende.s2t.bin", "x"), remove(EXPORT)),
]
