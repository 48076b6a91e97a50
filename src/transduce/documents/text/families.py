"""Families of placeholders: one table of named rules, and which of them a file's flags choose.

Every pattern is linear in the length of a text: repeats are possessive or bounded, and a scan stops where the next
match could begin.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

_W = "[A-Za-z0-9_]"  # of a name; other scripts' letters may follow a name without a blank
_LETTERS = "A-Za-z0-9_À-ɏͰ-ԯ"  # of scripts with blanks between words
_NUMBER = r"(?:\d++\$)?+"  # %2$s
_STAR = r"(?:\d++|\*(?:\d++\$)?+)?+"  # a width, or the argument that has it
_SIZE = rf"{_STAR}(?:\.{_STAR})?+"
_LENGTH = r"(?:hh?|ll?|[LqjzZt])?"
_INTERVAL = (
    r"(?:\{\d{1,9}(?:,\d{1,9}){0,9}\}"
    r"|[\[\]]\s{0,2}(?:-Inf|\*|-?\d{1,9})\s{0,2},\s{0,2}(?:\+?Inf|\*|-?\d{1,9})\s{0,2}[\[\]])"
)
_BRACES_1 = r"\{[^{}\r\n]{0,200}+\}"
_BRACES_2 = rf"\{{(?:[^{{}}\r\n]{{1,200}}+|{_BRACES_1}){{0,20}}+\}}"
_BRACES_3 = rf"\{{(?:[^{{}}\r\n]{{1,200}}+|{_BRACES_2}){{0,20}}+\}}"
_PARENTHESES_1 = r"\([^()\r\n]{0,200}+\)"
_PARENTHESES_2 = rf"\((?:[^()\r\n]{{1,200}}+|{_PARENTHESES_1}){{0,20}}+\)"
_PARENTHESES = rf"\((?:[^()\r\n]{{1,200}}+|{_PARENTHESES_2}){{0,20}}+\)"
_STRICT_BRACES = r"\{(?:[^{}]++|\{[^{}]*+\}){0,20}+\}"
_BOOLEAN = (
    "disabled|checked|selected|required|readonly|hidden|open|async|defer|multiple|autofocus|controls|loop|muted|"
    "novalidate|reversed|autoplay|allowfullscreen|nowrap"
)
_VALUE = r"""(?:"[^"]*+"|'[^']*+'|\{[^{}]*+\}|[^\s"'=<>`]++)"""
STRICT_TAG = rf"</?[A-Za-z0-9][A-Za-z0-9_:.-]*+(?:\s++[^\s\"'<>/=]++\s*+=\s*+{_VALUE}|\s++(?:{_BOOLEAN})\b)*+\s*+/?>"
"""A tag in a text without markup: its attributes have values, so that `<Name of the client>` is none."""
_ADDRESS_SIGN = r"[.,;:!?*_…、。，！？'’]"
_ADDRESS_CHARACTER = r"[^\s<>\"`“”„»«()\[\]{}.,;:!?*_…、。，！？'’]"
_ADDRESS = (
    rf"(?:{_ADDRESS_SIGN}*+(?:{_ADDRESS_CHARACTER}++|\([^\s()<>\"]*+\)|\[[^\s\[\]<>\"]*+\]|\{{[^\s{{}}<>\"]*+\}}))++"
)
_LOCAL = r"[A-Za-z0-9_À-ɏ.+-]"


@dataclass(frozen=True)
class Family:
    """A rule for the placeholders of some programs."""

    what: str
    """Programs that write such placeholders, for people."""
    examples: tuple[str, ...]
    pattern: str
    """A regular expression in verbose form."""
    sign: str = ""
    """First character of its placeholders; a flag excludes other rules of its sign: for `%` in `c-format` messages."""
    general: tuple[str, ...] = ()
    """General families that hold the same as a gettext family; its negation (`no-c-format`) excludes them."""
    literals: Mapping[str, str] = field(default_factory=dict)
    """Escapes of characters that mean something to the program."""


_PERCENT = {"%": "%%"}
_BRACES = {"{": "{{", "}": "}}"}

_TEMPLATES = r"""
    \$?\{\{\{(?:(?!\{\{|\}\}).)*+\}\}\} | \$?\{\{(?:(?!\{\{|\}\}).)*+\}\}
    | \{%(?:(?!\{%|%\}).)*+%\} | \{\#(?:(?!\{\#|\#\}).)*+\#\} | \{!!(?:(?!\{!!|!!\}).)*+!!\}
    | <%(?:(?!<%|%>).)*+%> | <\?(?:(?!<\?|\?>).)*+\?> | \[%(?:(?!\[%|%\]).)*+%\] | </?[\#@][^<>\r\n]{1,200}+>
    | \[\[\$\{[^{}\r\n]{1,200}+\}\]\] | \[\(\$\{[^{}\r\n]{1,200}+\}\)\]
"""
_STATEMENTS = rf"""
    (?:\}}\s*+)?+@(?:if|else(?:\ if)?+|for|empty|switch|case|default|defer|placeholder|loading|error|foreach|while)
        \s*+(?:{_PARENTHESES}\s*+)?+\{{
    | @let\s++[A-Za-z_]{_W}*+\s*+=[^;<>\r\n]{{1,200}}+;
    | (?<![{_LETTERS}@.&/])@(?:(?:if|elseif|unless|isset|empty|foreach|forelse|for|while|switch|case)\s*+{_PARENTHESES}
        | (?:else|end(?:if|unless|isset|empty|foreach|forelse|for|while|switch|auth|guest|can|section))\b
        | [A-Za-z]{_W}*+(?:\.{_W}++)*+{_PARENTHESES})
    | \#(?:(?:if|elseif|foreach|set|parse|include|macro)\s*+{_PARENTHESES} | \{{(?:else|end)\}} | (?:else|end)\b)
"""
_NOT_CONVERSION = rf"(?!{_LENGTH}[A-Za-z](?![A-Za-z]))"
_NAME = rf"[A-Za-z_]{_W}*+(?:[.-]{_W}++)*+"

FAMILIES: dict[str, Family] = {
    "templates": Family(
        "Jinja, Django, Twig, Liquid, Handlebars, Vue, Angular, Hugo, ERB, EJS, JSP, PHP, Blade, FreeMarker",
        ("{{ name }}", "{{{raw}}}", "{{< ref >}}", "{% url 'a' %}", "<%= x %>", "[% x %]", "{!! $x !!}", "<?= $x ?>"),
        _TEMPLATES,
        "{",
    ),
    "statements": Family(
        "Angular, Blade, Razor, Velocity",
        ("@if (a.b()) {", "} @else {", "@foreach ($a as $b)", "@endif", "@Html.Raw(x)", "#if($x)", "#end"),
        _STATEMENTS,
        "@",
    ),
    "addresses": Family(
        "addresses of pages and of mail",
        ("https://a.example/b_(c)?d=e#f", "www.a.example", "ann.b@c.example", "ann{'@'}c.example"),
        rf"""
        (?<![A-Za-z0-9])[A-Za-z][A-Za-z0-9+.-]{{1,15}}+://{_ADDRESS} | (?<![A-Za-z0-9.@/-])www\.{_ADDRESS}
        | (?<!{_LOCAL})(?:mailto:)?+{_LOCAL}++(?:@|\{{'@'\}})[A-Za-z0-9-]++(?:\.[A-Za-z0-9-]++)++
        """,
    ),
    "tags": Family(
        "tags in plain text, and names in angle brackets",
        ("<file>", '<a href="x">', "<br/>", "<!-- x -->"),
        rf"<!--(?:(?!<!--|-->).)*+--> | {STRICT_TAG}",
    ),
    "entities": Family(
        "characters by their names",
        ("&nbsp;", "&#160;", "&#xA0;", "&brand.short-name;"),
        r"&(?:[A-Za-z][A-Za-z0-9]{0,31}+(?:[.-][A-Za-z0-9]{1,31}+){0,4}+|\#\d{1,7}+|\#[xX][0-9A-Fa-f]{1,6}+);",
    ),
    "python": Family(
        "Python, by names",
        ("%(name)s", "%(count)05d"),
        r"%\([^()\r\n]{1,100}+\)[-+\#0]*+\d*+(?:\.\d++)?+[A-Za-z]?+",
        "%",
    ),
    "ruby": Family(
        "Ruby and Rails",
        ("%{name}", "%<name>s", "%<PRIu64>"),
        rf"%[-+\#0]*+\d*+<[A-Za-z_]{_W}*+>[-+\#0]*+\d*+(?:\.\d++)?+[A-Za-z]?+ | %{_BRACES_1}",
        "%",
    ),
    "windows": Family("messages of Windows", ("%1!s!", "%2!08X!"), r"%\d{1,2}![^!\s]{1,12}+!", "%"),
    "percent names": Family(
        "Symfony, Drupal, Boost, the shell of Windows",
        ("%name%", "%user.name%", "%1%", "%title"),
        rf"""
        %{_NAME}%(?![A-Za-z0-9_%({{<@\#*$]) | %{_NOT_CONVERSION}{_NAME}%
        | %\d{{1,2}}%(?![A-Za-z0-9_]|%(?!\d{{1,2}}%)) | (?<![A-Za-z0-9_%])%[a-z_]{{4,}}+(?![A-Za-z0-9%])
        """,
        "%",
    ),
    "apple": Family(
        "Objective-C and Swift",
        ("%@", "%1$@", "%#@name@", "%1$#@x@", "%arg"),
        rf"%{_NUMBER}\#@{_W}++(?:\.{_W}++)*+@ | %{_NUMBER}[-+\#0]*+\d*+@ | (?<![{_LETTERS}%])%{_NUMBER}arg(?!{_W})",
        "%",
    ),
    "linked messages": Family(
        "vue-i18n; resources of Android",
        ("@:home.title", "@.lower:home.title", "@:(home.title)", "@:{'home.title'}", "@string/name"),
        rf"""
        (?<![{_LETTERS}@.&/])@(?:
            (?:\.[A-Za-z_][A-Za-z0-9_-]*+)?+
            :(?:\([^()\s]{{1,100}}+\)|\{{[^{{}}\r\n]{{1,100}}+\}}|[{_LETTERS}$]++(?:[./-][{_LETTERS}$]++)*+)
            | (?:{_W}++:)?+(?:string|plurals|array|id|drawable|color|dimen|style|attr)/{_W}++(?:\.{_W}++)*+)
        """,
        "@",
    ),
    "drupal": Family(
        "Drupal", ("@count", "!link"), rf"(?<![A-Za-z0-9_@.&/])@[A-Za-z_]{_W}*+ | (?<![A-Za-z0-9_!])![A-Za-z_]{_W}*+"
    ),
    "printf": Family(
        "C, C++, PHP, Java, Go, JavaScript, awk, Lua, the shell; dates and times as in strftime",
        ("%s", "%5.2f", "%1$s", "%ld", "%*d", "%qs", "%Y", "%%"),
        rf"""
        %% | %\d++\$[-+\#0',(]*+{_SIZE}{_LENGTH}[A-Za-z] | %(?!L\d)[-+\#0',(]*+{_SIZE}{_LENGTH}[A-Za-z](?![A-Za-z])
        | (?<!\d)%{_LENGTH}[sdi](?=[A-Za-z]) | %\[\d{{1,3}}\][-+\#0]*+\d*+[A-Za-z]
        """,
        "%",
    ),
    "qt": Family("Qt and KDE", ("%1", "%L2", "%n"), rf"%(?:L?\d{{1,2}}|L?n)(?!{_W})", "%"),
    "gcc": Family("GCC", ("%<", "%>"), r"(?<!\d)%[<>]", "%"),
    "wiki links": Family(
        "MediaWiki; a label after the last sign is translated",
        ("[[Help:Page]]", "[[File:a.png|thumb|left]]"),
        r"\[\[[^\[\]{}<>\r\n]{1,200}+\]\]",
        "[",
    ),
    "plural forms": Family(
        "Symfony and Laravel: what is between the signs is translated apart",
        ("one|many", "{0} none|[2,*] many", "{0} none|]1,Inf] many"),
        rf"""
        \A\s{{0,3}}{_INTERVAL}\s{{0,3}}(?=[^|]*+\|) | \|\s{{0,3}}{_INTERVAL}\s{{0,3}} | (?<=[^\s|])\|(?=[^\s|])
        """,
    ),
    "braces": Family(
        "Python, .NET, Java, ICU, C++, Rust, Fluent, Smarty, i18next, Velocity, Kotlin",
        ("{name}", "{0:.2f}", "{name!r:>10}", "{ $name }", "${name}", "#{name}", "@{name}", "}"),
        rf"(?:\$!?|\#|@)?+{_BRACES_3} | [{{}}]",  # one brace of code in a text
        "{",
    ),
    "formulas": Family(
        "TeX",
        ("$E=mc^2$",),
        r"(?<![A-Za-z0-9$\\])\$(?=[^\s${(][^$\r\n]{0,200}+(?<!\s)\$(?![A-Za-z0-9$]))[^$\\^_=]*+[\\^_=][^$]*+\$",
        "$",
    ),
    "names": Family(
        "the shell, PHP, i18next and extensions of Chrome",
        ("$name", "$t(key)", "$(command)", "$USER$", "$user@1$"),
        rf"""
        (?<![A-Za-z0-9$])\$(?=\d*+[A-Za-z_@])[A-Za-z0-9_@]++\$(?![A-Za-z0-9])
        | \$[A-Za-z_]{_W}*+(?:\([^()\r\n]{{0,100}}+\))?+ | \$\([^()\r\n]{{1,100}}+\)
        """,
        "$",
    ),
    "colons": Family(
        "Laravel; emoji by their names",
        (":name", ":perPage", ":Name", ":NAME", ":rocket:", ":+1:"),
        rf"(?<![{_LETTERS}:.)\]}}>%]):(?:[A-Za-z0-9_+-]{{2,40}}+:|[A-Za-z][A-Za-z0-9_]{{1,40}}+)(?![{_LETTERS}:])",
    ),
    "emacs": Family(
        "Emacs",
        (r"\[forward-char]", r"\{text-map}", r"\<text-map>"),
        r"\\(?:\[[^\[\]\s]{1,80}+\]|\{[^{}\s]{1,80}+\}|<[^<>\s]{1,80}+>)",
    ),
    "backslashes": Family("Swift and TeX", (r"\(name)", r"\(dogs.count(of: x))"), rf"\\{_PARENTHESES}"),
    "terminals": Family("colours of a terminal", ("ESC[1;31m",), r"\x1b\[[\d;]{0,40}+[A-Za-z]"),
    "icu": Family(
        "ICU and FormatJS: branches of plural, select and choice are translated apart, also where tags are in them",
        ("{n, plural, one {# file} other {# files}}", "{who, select, a {her} other {their}}", "{0,choice,0#no|1#one}"),
        r"(?!)",  # see messages.py
        "{",
    ),
}
"""All rules by their names; where several match, the first counts."""

GENERAL = tuple(FAMILIES)
"""The rules for texts without a flag that names their placeholders."""

FAMILIES["dollar numbers"] = Family(
    "extensions of Chrome, MediaWiki: in messages, if $1 is among them",
    ("$1", "$2"),
    r"(?<![A-Za-z0-9$])\$[1-9](?![A-Za-z0-9]|[.,]\d)",
    "$",
)
FAMILIES["quotes"] = Family(
    "FormatJS: in files of its messages",
    ("'{name}'", "'<b>'"),
    r"'(?=[{}<>])(?:[^']++|'')*+'",
    "'",
)
MESSAGES = (*GENERAL, "dollar numbers")
"""The rules for messages of programs in files whose format does not name their placeholders."""


def _c(conversions: str, flags: str = r"-+\ \#0'I") -> str:
    return rf"%%|%{_NUMBER}[{flags}]*+{_SIZE}{_LENGTH}(?:[{conversions}])"


def _printf(what: str, pattern: str, *examples: str, more: tuple[str, ...] = (), is_literal: bool = True) -> Family:
    """Makes a family of gettext with percent signs."""
    return Family(what, examples, pattern, "%", ("printf", "gcc", *more), _PERCENT if is_literal else {})


def _braced(what: str, *examples: str) -> Family:
    """Makes a family of gettext with braces, which are doubled to be text."""
    return Family(what, examples, rf"\{{\{{|\}}\}}|{_STRICT_BRACES}", "{", ("braces",), _BRACES)


_GCC = rf"%{_NUMBER}[qwlzt+\#\d]*+(?:\.{_STAR})?+[A-Za-z%<>'{{}}]"
_QT = r"%L?+\d{1,2}"
_C = rf"{_c('diouxXeEfFgGaAcsCSpnmbB')}|%{_NUMBER}[-+\ \#0']*+{_SIZE}<{_W}++>"
_OBJC = rf"{_C}|%{_NUMBER}[-+\ \#0']*+@"
_PYTHON = rf"%%|%(?:\([^()]*+\))?+[-+\ \#0]*+{_SIZE}[hlL]?+[diouxXeEfFgGcrsa]"
_JAVA = r"%%|%(?:\d++\$|<)?+[-\#+\ 0,(]*+\d*+(?:\.\d++)?+[tT]?+[A-Za-z]"
_PHP = rf"%%|%{_NUMBER}(?:[-+\ 0]|'.)*+\d*+(?:\.\d++)?+[bcdeEfFgGosuxX]"
_PERL = rf"%%|%{_NUMBER}[-+\ \#0]*+(?:\*?v)?+{_SIZE}(?:hh?+|ll?+|[qLzjtV])?+[csdiuoxXeEfFgGpnDUObBv]"
_RUBY = rf"%%|%\{{[^{{}}]*+\}}|%{_NUMBER}[-+\ \#0]*+{_SIZE}(?:<[^<>]*+>)?+[-+\ \#0]*+{_SIZE}[diouxXeEfgGaAbBcsp]"
_PASCAL = r"%%|%(?:(?:\d++|\*):)?+-?(?:\d++|\*)?+(?:\.(?:\d++|\*))?+[duxefgnmspDUXEFGNMSP]"
_GO = r"%%|%[-+\ \#0]*+(?:\[\d++\])?+(?:\d++|\*)?+(?:\.(?:\[\d++\])?+(?:\d++|\*)?+)?+(?:\[\d++\])?+[A-Za-z]"
_LISP_HEAD = r"~(?:(?:[-+]?\d++|'.|[vV\#])?+,){0,7}+(?:[-+]?\d++|'.|[vV\#])?+[:@]*+"
_MESSAGE_FORMAT = {"'": "''", "{": "'{'", "}": "'}'"}

_OF_GETTEXT: dict[str, Family] = {
    "c-format": _printf("C", _C, "%s", "%-5.2f", "%1$s", "% d", "%<PRIu64>", "%%"),
    "objc-format": _printf("Objective-C", _OBJC, "%@", "%s", more=("apple",)),
    "c++-format": _braced("C++", "{}", "{0:>5}", "{{"),
    "python-format": _printf("Python", _PYTHON, "%s", "%(name)s", "%(n) d", "%%", more=("python",)),
    "python-brace-format": _braced("Python", "{}", "{name}", "{0.a[b]!r:>{width}}", "{{"),
    "java-format": Family(
        "Java's MessageFormat",
        ("{0}", "{0,number,#.##}", "'{'"),
        rf"'\{{[^']*+'|{_STRICT_BRACES}",
        "{",
        ("braces",),
        _MESSAGE_FORMAT,
    ),
    "java-printf-format": _printf("Java's Formatter", _JAVA, "%s", "%1$tY", "%<s", "%,d"),
    "csharp-format": _braced(".NET", "{0}", "{0,-10:N2}", "{{"),
    "javascript-format": _printf("JavaScript", _c("diouxXeEfFgGcsjOpb"), "%s", "%1$d", "%j"),
    "php-format": _printf("PHP", _PHP, "%s", "%1$s", "%'*10d", "%%"),
    "perl-format": _printf("Perl", _PERL, "%s", "%vd", "%-10s"),
    "perl-brace-format": Family("Perl", ("{name}",), rf"\{{[A-Za-z_]{_W}*+\}}", "{", ("braces",)),
    "ruby-format": _printf("Ruby", _RUBY, "%s", "%<name>d", "%{name}", "%-5<n>d", more=("ruby",)),
    "sh-format": Family("the shell", ("$name", "${name}"), rf"\$[A-Za-z_]{_W}*+|\$\{{[^{{}}]*+\}}", "$", ("names",)),
    "sh-printf-format": _printf("the shell", _c("diouxXeEfFgGaAcsb"), "%s", "%-5d"),
    "awk-format": _printf("awk", _c("diouxXeEfFgGcs"), "%s", "%1$d"),
    "lua-format": _printf("Lua", _c("diouxXeEfgGaAcsq"), "%s", "%q"),
    "tcl-format": _printf("Tcl", _c("diouxXeEfFgGcs"), "%s", "%1$d"),
    "elisp-format": _printf("Emacs Lisp", _c("doxXeEfgGcsS"), "%s", "%S", "%-5d"),
    "librep-format": _printf("librep", _c("doxXcsS", r"-^0+\ "), "%s", "%5d"),
    "object-pascal-format": _printf("Object Pascal", _PASCAL, "%s", "%0:d", "%-5.2f"),
    "go-format": _printf("Go", _GO, "%v", "%[1]d", "%+v"),
    "d-format": _printf("D", _c("sdboxXeEfFgGaAc()|"), "%s", "%5d"),
    "rust-format": _braced("Rust", "{}", "{name:>5}", "{{"),
    "qt-format": _printf("Qt", _QT, "%1", "%L2", is_literal=False),
    "qt-plural-format": _printf("Qt", rf"%L?+n|{_QT}", "%n", "%Ln", "%1", is_literal=False),
    "kde-format": _printf("KDE", r"%\d{1,2}", "%1", "%2", is_literal=False),
    "kde-kuit-format": _printf("KDE", r"%\d{1,2}", "%1", "%2", is_literal=False),
    "boost-format": _printf("Boost", rf"%%|%\d++%|%\|[^|]*+\||{_c('diouxXeEfFgGaAcsCSpn')}", "%1%", "%|1$+5|", "%s"),
    "smalltalk-format": _printf("Smalltalk", r"%%|%[1-9A-Z]", "%1", "%%"),
    "ycp-format": _printf("YCP", r"%%|%[1-9]", "%1", "%%"),
    "lisp-format": Family(
        "Common Lisp", ("~a", "~2,'0d", "~:@(", "~%"), rf"{_LISP_HEAD}(?:\n\s*+|[^\s\d,'])", "~", (), {"~": "~~"}
    ),
    "scheme-format": Family("Scheme", ("~a", "~s", "~%"), rf"{_LISP_HEAD}[^\s\d,']", "~", (), {"~": "~~"}),
    "gcc-internal-format": _printf("GCC", _GCC, "%qs", "%<", "%>", "%'", "%qD"),
    "gfc-internal-format": _printf("GCC's Fortran", _GCC, "%qs", "%C", "%<", "%>"),
}
FAMILIES |= _OF_GETTEXT


def families_for(flags: Iterable[str]) -> tuple[str, ...]:
    """Returns the rules for a message with flags of gettext: `php-format` replaces the general rules of its sign, and
    `no-php-format` leaves out those that hold the same."""
    named = {flag.strip().removeprefix("possible-").replace("impossible-", "no-") for flag in flags}
    chosen = [name for name in _OF_GETTEXT if name in named]
    signs = {FAMILIES[name].sign for name in chosen}
    without = {rule for name in _OF_GETTEXT if f"no-{name}" in named for rule in FAMILIES[name].general}
    return (*chosen, *(name for name in GENERAL if FAMILIES[name].sign not in signs and name not in without))


@lru_cache(maxsize=64)
def pattern_of(families: tuple[str, ...]) -> re.Pattern[str]:
    """Returns a pattern for the placeholders of some families; its `lastgroup` is the `group_of` a family."""
    rules = "\n|".join(f"(?P<{group_of(name)}>{FAMILIES[name].pattern})" for name in families)
    return re.compile(rules, re.VERBOSE | re.DOTALL)


def group_of(family: str) -> str:
    """Returns the name of a family's group in a pattern."""
    return re.sub(r"\W", lambda match: "_" if match[0] in " -" else "p", family)


_NEXT = re.compile(
    rf"%(?:'[^A-Za-z]|[-+ \#0'I,(])*v?{_SIZE}(?:{_LENGTH}[A-Za-z@]|<PRI\w++>)|\{{(?:[:!][^{{}}]*+)?\}}|~[^\d%~].*",
    re.DOTALL,
)


def takes_next_argument(placeholder: str) -> bool:
    """Returns True if a placeholder means the next argument, such as `%s`, and not one by number or name."""
    return _NEXT.fullmatch(placeholder) is not None and placeholder not in ("%n", "%m")


def with_literals(text: str, families: Iterable[str], free: str) -> str:
    """Writes characters that mean something to a program as text, such as a percent sign as `%%`, unless the source's
    text, without its placeholders, has them too."""
    written: dict[str, str] = {}
    for name in families:
        written |= FAMILIES[name].literals
    return "".join(written[sign] if sign in written and sign not in free else sign for sign in text)
