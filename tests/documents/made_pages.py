"""Pages of HTML and documents of Markdown by chance, whose words are all known."""

import html

from documents.made_texts import BLOCKS, Chance, Made


class Pages:
    """Pages of HTML."""

    def __init__(self, chance: Chance) -> None:
        self.chance = chance

    def text(self) -> str:
        """Characters of a text."""
        chance = self.chance
        text = html.escape(chance.phrase(), quote=False)
        return str(chance.pick(
            text, text, text,
            lambda: f"{text} &nbsp;{chance.phrase()}", lambda: f"{text} &amp; {chance.phrase()}",
            lambda: f"{text} {self.code()}", lambda: f"{self.code()} {text}", lambda: f"{text} &lt; {chance.phrase()}",
            lambda: f"{text} &mdash; {chance.phrase()}&hellip;", lambda: f"{text} &#8220;{chance.phrase()}&#x201d;",
            lambda: f"{text}&nbsp;{chance.phrase()}", lambda: f"{text}\n  {chance.phrase()}",
        ))  # fmt: skip

    def code(self) -> str:
        chance = self.chance
        text = chance.filled(chance.pick(
            "{{ ~ }}", "{{ ~ | ~ }}", "{{ ~.~() }}", "<%= ~ %>", "<?= $~ ?>", "{$~}", "{{{~}}}", "${~}", "{~}",
            "{{> ~}}", "{% ~ '~' %}", "{{ ~ && ~ }}", "@{~}", "%s", "{!! $~ !!}", "{{ '~' | translate }}", "[% ~ %]",
            "{# ~ #}",
            "{{!-- ~ --}}", "<% ~ %>", "<?php echo $~; ?>", "https://~.example/~?a=~",
        ))  # fmt: skip
        if not text.startswith("<"):
            chance.placeholders.append(text)
        return text

    def attribute(self) -> str:
        chance = self.chance
        return str(chance.pick(
            "", "", "", "", "",
            ' title="§"', " class='~'", ' href="/~?a&b"',
            ' v-if="~ > 1"', ' :title="~"', ' @click="~()"',
            " *ngIf='~; else ~'", ' [title]="~"',
            ' title="§ {{ ~ }}"', ' data-~="~"',
            " {% if ~ %}hidden{% endif %}", ' class="<?= $~ ?>"',
            lambda: f' aria-label="{self.chance.block()}"', lambda: f' title="{self.chance.icu()}"',
            ' #~ id="~"', " title='§ &amp; §'",
        ))  # fmt: skip

    def inline(self, depth: int = 2) -> str:
        """A piece of a sentence; blanks are about it."""
        chance = self.chance

        def inner() -> str:
            return self.flow(depth - 1)

        def text() -> str:
            return chance.phrase()

        def bold() -> str:
            return f"{chance.phrase()} <b>{chance.phrase()}</b>"

        leaves = [
            *[self.text] * 6, self.code,
            lambda: f"{self.text()}<br{chance.pick('', '/', ' /')}>{self.text()}",
            '<img src="~" alt="§">',
            "<code>~()</code>", "<kbd>~</kbd>",
            '<span translate="no">~</span>', "<!-- ~ -->",
            lambda: f"{self.text()}<sup>1</sup>", '<input placeholder="§">',
            *(["<svg><title>§</title><path/></svg>", "<math><mi>~</mi></math>"] if chance.kind == "html" else []),
            "§ <BR>§", "§<sup><a href='#~'>[1]</a></sup>",
            "<ruby>§<rp>(</rp><rt>~</rt><rp>)</rp></ruby>",
        ]  # fmt: skip
        nests = [
            lambda: f"<b{self.attribute()}>{inner()}</b>", lambda: f"<em>{inner()}</em>",
            lambda: f"<a href='{chance.name()}'{self.attribute()}>{inner()}</a>",
            lambda: f"<span{self.attribute()}>{inner()}</span>",
            lambda: chance.block(inner), lambda: chance.icu(lambda: chance.pick(chance.phrase, bold)),
            lambda: f"<label>{inner()}</label>",
            lambda: f"<u>{chance.block(inner)}</u>", lambda: f"<q>{inner()}</q>",
            lambda: f"<STRONG>{inner()}</STRONG>", "@if (~) { § }",
            "@if (~) { <b>§</b> } @else { § }",
        ]  # fmt: skip
        return str(chance.pick(*leaves, *(nests * 2 if depth else [])))

    def flow(self, depth: int = 2) -> str:
        """A sentence or more."""
        return " ".join([self.text(), *self.chance.several(lambda: self.inline(depth), 0, 3)])

    def block(self, depth: int = 2) -> str:
        """A block."""
        chance, flow = self.chance, self.flow

        def inner() -> str:
            return "".join(chance.several(lambda: self.block(depth - 1), 1, 2))

        def items(name: str) -> str:
            def rows() -> str:
                return "".join(
                    chance.several(lambda: f"<{name}{self.attribute()}>{flow()}{chance.pick('', f'</{name}>')}")
                )

            return chance.block(rows) if chance.maybe(0.3) else rows()

        leaves = [
            *[lambda: f"<p{self.attribute()}>{flow()}</p>"] * 5,
            lambda: f"<h1>{flow()}</h1>", lambda: f"<ul>{items('li')}</ul>",
            lambda: f"<table><caption>{flow()}</caption><tr>{items('td')}</tr></table>",
            lambda: f"<dl><dt>{flow()}<dd>{flow()}</dl>", lambda: f"<p>{flow()}\n",
            "<select>{''.join(chance.several(lambda: f'<option>§'))}</select>",
            "<select><option value='~'>§</select>",
            "<pre>~</pre>", "<script>~ < 1</script>",
            "<style>.~ > b {}</style>", lambda: f"<button>{flow(1)}</button>",
            '<input type="submit" value="§">', "<textarea>§</textarea>",
            "<!-- ~ <p> -->", "<template>§</template>",
            "<noscript><p>§</p></noscript>", "<textarea>~</textarea>",
            lambda: f"<div>{chance.phrase()}<p>{flow()}</p>{chance.phrase()}</div>",
            "<!--[if IE]>~<![endif]-->", "<video>§</video>",
            lambda: f"<figure><img alt='{chance.phrase()}' src=x><figcaption>{flow()}</figcaption></figure>",
            "<svg><text>§</text></svg>", lambda: f"@for ({chance.name()}; track x) {{ <p>{flow()}</p> }}",
            lambda: f"<ul><li v-for='{chance.name()} in {chance.name()}' :key='{chance.name()}.id'>{flow()}</li></ul>",
            "<iframe srcdoc='<p>§</p>'></iframe>", lambda: chance.block(flow), chance.icu,
        ]  # fmt: skip
        nests = [
            lambda: f"<div{self.attribute()}>{inner()}</div>", lambda: f"<blockquote>{inner()}</blockquote>",
            lambda: f"<section>\n{inner()}\n</section>", lambda: chance.block(inner),
            lambda: f"<details><summary>{flow()}</summary>{inner()}</details>",
        ]  # fmt: skip
        return str(chance.pick(*leaves, *(nests * 2 if depth else [])))

    def page(self) -> str:
        """A page, or a part of one."""
        chance = self.chance
        body = "\n".join(chance.several(self.block, 1, 5))
        if chance.maybe(0.5):
            return body
        extends = chance.pick("", f"{{% extends '{chance.name()}' %}}\n", f"<?php include('{chance.name()}'); ?>\n")
        return (
            f"{extends}<!DOCTYPE html>\n<html lang=en><head><title>{self.text()}</title>"
            f"<meta name=description content='{chance.phrase()}'></head><body>{body}</body></html>\n"
        )


def html_document(chance: Chance) -> Made:
    return chance.made("a.html", Pages(chance).page())


# ---------------------------------------------------------------------------------------------------- Markdown


def markdown_document(chance: Chance) -> Made:
    phrase, several, pick = chance.phrase, chance.several, chance.pick

    def code() -> str:
        text = chance.filled(
            pick("{{ ~ }}", "{{< ~ >}}", "{% ~ %}", "<%= ~ %>", "https://~.example/~", "{{ ~.~ | ~ }}", "{~}")
        )
        if not text.startswith("<"):
            chance.placeholders.append(text)
        return text

    def inline(depth: int = 1) -> str:
        leaves = [
            *[phrase] * 5, "`~`", code, '![§](~.png "§")',
            "<kbd>~</kbd>", "§<br>§", "§  \n§",
            "§\\\n§", "§\n§", "§ &amp; §",
            "§ \\* §", "<!-- ~ -->",
        ]  # fmt: skip
        nests = [
            lambda: f"*{line(0)}*", lambda: f"**{line(0)}**", lambda: f"[{line(0)}]({chance.name()}.html)",
            lambda: f'[{line(0)}]({chance.name()} "{phrase()}")', lambda: f"~~{phrase()}~~",
            lambda: f"<b>{line(0)}</b>",
            lambda: chance.block(phrase, MARKDOWN_BLOCKS), lambda: f'<span title="{phrase()}">{line(0)}</span>',
        ]  # fmt: skip
        return str(pick(*leaves, *(nests if depth else [])))

    def line(depth: int = 1) -> str:
        return " ".join([phrase(), *several(lambda: inline(depth), 0, 3)])

    def flat(depth: int = 1) -> str:
        return " ".join(line(depth).replace("\\\n", " ").split())

    def block() -> str:
        return str(pick(
            *[line] * 4,
            lambda: f"{'#' * chance.random.randint(1, 4)} {flat()}", lambda: f"{flat()}\n---",
            lambda: "\n".join(several(lambda: f"- {flat()}")), lambda: "\n".join(several(lambda: f"1. {flat()}")),
            lambda: f"- {flat()}\n  - {flat()}\n\n    {flat()}", lambda: f"> {flat()}\n> {flat()}",
            "| § | § |\n|---|---|\n| § | `~` |",
            "```\n~\n```", lambda: f"# {flat()}\n\n    {chance.name()}",
            "<div>\n<p>§ <b>§</b></p>\n</div>", "<!-- ~ -->",
            lambda: f"- [ ] {flat()}\n- [x] {flat()}", lambda: f"{phrase()}[^1]\n\n[^1]: {flat()}",
            lambda: f"<div>\n{Pages(chance).block(0)}\n</div>", lambda: f"<p>{Pages(chance).flow(1)}</p>",
            lambda: chance.block(lambda: f"\n\n{line()}\n\n", MARKDOWN_BLOCKS),
        ))  # fmt: skip

    front = pick("", "", f'---\ntitle: "{phrase()}"\n{chance.name()}: {chance.name()}\n---\n\n')
    return chance.made("a.md", front + "\n\n".join(several(block, 2, 6)) + "\n")


MARKDOWN_BLOCKS = tuple(one for one in BLOCKS if one[0][:2] in ("{%", "{{", "<%") and "~}}" not in one[-1])
