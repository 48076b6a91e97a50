"""Pages that translate: engines that are missing or others, and folders in Firefox's form that no page can hold."""

from bad_inputs.damages import cut, empty, folder, garbage, link, remove, write
from bad_inputs.row import row

PAGE = "export firefox --to page -o t.html"
MODEL, VOCABULARY = "firefox/model.ende.intgemm.alphas.bin", "firefox/vocab.ende.spm"
METADATA, EXPORT = "firefox/metadata.json", "firefox/export.json"

ROWS = [
    row(
        "a page without an engine",
        PAGE,
        2,
        ("cannot be downloaded", "npm package", "(--engine)"),
        environment={"NPM_CONFIG_REGISTRY": "http://127.0.0.1:9"},
    ),
    row("a page's engine that is not there", f"{PAGE} --engine no.tgz", 2, "no.tgz: no such file; expected the npm"),
    row("a page's engine of another hash", f"{PAGE} --engine test.en", 2, ("test.en is not", "SHA-512", "npm pack")),
    row("a folder as a page's engine", f"{PAGE} --engine run", 2, "run: no such file"),
    row("an engine for another export", "export run -o x --engine a.tgz", 2, "--engine is for a page"),
    row("a page's weights in another type", f"{PAGE} --quantization int8", 2, "--quantization"),
    row("a page's licence", f"{PAGE} --license mit", 2, "--license is for Hugging Face"),
    row("a page without its ending", "export firefox --to page -o t", 2, ("t: a page ends in .html", "t.html")),
    row("a page that is there", PAGE, 2, "t.html exists", write("t.html", "")),
    row("a page that is a link to nowhere", PAGE, 2, "t.html is a link to nowhere", link("t.html", "nowhere")),
    row("a page of nothing", "export nowhere --to page -o t.html", 2, "nowhere"),
    *(
        row(f"a page's model: {harm}", PAGE, 2, words, damage(MODEL), remove(EXPORT), remove(METADATA))
        for harm, damage, words in (
            ("cut off", cut, "model of Firefox Translations, or a damaged one"),
            ("empty", empty, "model of Firefox Translations, or a damaged one"),
            ("garbage", garbage, "model of Firefox Translations, or a damaged one"),
            ("a folder", folder, "no such file"),
        )
    ),
    *(
        row(f"a page's vocabulary: {harm}", PAGE, 2, "vocab", damage(VOCABULARY), remove(EXPORT))
        for harm, damage in (
            ("not there", remove),
            ("cut off", cut),
            ("empty", empty),
            ("garbage", garbage),
            ("a folder", folder),
        )
    ),
    row("two models for a page", PAGE, 2, "has 2 files model.*.bin", write("firefox/model.enfr.bin", "")),
    row("a page's metadata that are none", PAGE, 2, METADATA, write(METADATA, "["), remove(EXPORT)),
    row(
        "a page's language that is none", PAGE, 2, "../x", write(METADATA, '{"sourceLanguage": "../x"}'), remove(EXPORT)
    ),
    row(
        "a shortlist for a page that is none",
        PAGE,
        2,
        "lex",
        write("firefox/lex.50.50.ende.s2t.bin", "x"),
        remove(EXPORT),
    ),
    row("a changed vocabulary of an export for a page", PAGE, 2, "has changed since it was saved", garbage(VOCABULARY)),
]
