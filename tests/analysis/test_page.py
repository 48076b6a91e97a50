"""Pages show what they were given, in a browser that may not load anything, and no text can break out of them."""

import base64
import io
import json
import math
import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.image import imread

from transduce.analysis.page import LOOK, TRAINING, render_look, render_training
from transduce.analysis.pictures import position_pictures
from transduce.analysis.position_vectors import sinusoidal_positions

pytestmark = pytest.mark.slow

HOSTILE = "</script><img src=x onerror=\"document.title='broken'\"><!--<script>&amp;\u2028\u2029'\"\\"
SOURCE = ["▁Ein", "▁Hund", "▁spiel", "t", "<eos>"]
TARGET = ["▁A", "▁dog", "▁is", "▁play", "ing", ".", "<eos>"]
HEADS, LAYERS = 3, 2


def random_weights(heads: int, queries: int, keys: int, seed: int = 0) -> Any:
    values = np.random.default_rng(seed).random((heads, queries, keys)) ** 4
    return (values / values.sum(-1, keepdims=True)).astype(np.float32)


def attention_of(source: int, target: int, layers: int, heads: int) -> list[dict[str, Any]]:
    sizes = {"encoder": (source, source), "decoder": (target, target), "cross": (target, source)}
    return [
        {"part": part, "layer": layer, "weights": random_weights(heads, *size, seed=layer)}
        for layer in range(layers)
        for part, size in sizes.items()
    ]


def search_of(tokens: list[str]) -> dict[str, Any]:
    """The best output's path; beside each of its nodes a pruned one; a finished and a greedy one at step 3."""
    root = {"id": 0, "parent": None, "step": 0, "token": "", "log_probability": 0.0, "total": 0.0, "score": 0.0}
    nodes: list[dict[str, Any]] = [{**root, "state": "chosen", "greedy": True, "text": ""}]

    def add(parent: int, step: int, token: str, state: str, greedy: bool, text: str) -> None:
        numbers = {"log_probability": math.log(0.5), "total": step * math.log(0.5), "score": -0.25 * step}
        node = {"id": len(nodes), "parent": parent, "step": step, "token": token, **numbers}
        nodes.append({**node, "state": state, "greedy": greedy, "text": text})

    parent = 0
    for step, token in enumerate(tokens, 1):
        best = len(nodes)
        add(parent, step, token, "chosen", step < 3, f"best output at {step}")
        add(parent, step, "other", "pruned", False, f"pruned output at {step}")
        if step == 3:
            add(parent, step, "<eos>", "finished", False, "finished output")
            add(parent, step, "greed", "greedy", True, "greedy output")
        parent = best
    return {"size": 4, "length_penalty": 0.6, "nodes": nodes}


def translation(source_tokens: list[str] = SOURCE, target_tokens: list[str] = TARGET, **changes: Any) -> dict[str, Any]:
    drops = np.random.default_rng(1).normal(size=(len(target_tokens), len(source_tokens)))
    facts = {
        "model": "runs/captions",
        "task": "translation",
        "source": {"text": "Ein Hund spielt", "tokens": source_tokens, "direction": "ltr"},
        "target": {"text": "A dog is playing.", "tokens": target_tokens, "direction": "ltr"},
        "read": ["<bos>", *target_tokens[:-1]],
        "attention": attention_of(len(source_tokens), len(target_tokens), LAYERS, HEADS),
        "confidence": [
            {
                "token": token,
                "probability": 0.25 if index == 1 else 0.9,
                "rank": 2 if index == 1 else 1,
                "alternatives": [{"token": "▁hound", "probability": 0.6}, {"token": "▁puppy", "probability": 0.003}],
            }
            for index, token in enumerate(target_tokens)
        ],
        "alignment": {
            "layer": 1,
            "head": 2,
            "shift": 0,
            "source_words": ["Ein", "Hund", "spielt"],
            "target_words": ["A", "dog", "is", "playing", "."],
            "links": [[0, 0], [1, 1], [2, 2], [2, 3]],
        },
        "occlusion": {"drops": drops.tolist(), "total": drops.sum(0).tolist()},
        "gradient": {"attributions": [0.5, -1.25, 3.0, 0.0, 0.75][: len(source_tokens)], "error": 0.02},
        "attended": [0.2] * len(source_tokens),
        "agreement": {"attention": 0.4, "gradient": None},
        "search": search_of(target_tokens),
    }
    return {**facts, **changes}


def language() -> dict[str, Any]:
    nothing = dict.fromkeys(("source", "alignment", "occlusion", "gradient", "attended", "agreement", "search"))
    attention = [entry for entry in translation()["attention"] if entry["part"] == "decoder"]
    return translation(task="language", attention=attention, **nothing)


def training() -> dict[str, Any]:
    nan = math.nan
    first = {
        "loss": {"x": [10, 20, 30, 40, 50], "y": [6.0, nan, 4.0, nan, 2.5]},
        "validation loss": {"x": [20, 40], "y": [5.5, 3.5]},
        "bleu": {"x": [20, 40], "y": [10.0, 30.5]},
        "learning rate": {"x": [10, 20], "y": [0.0003, 0.0006]},
        "perplexity": {"x": [20], "y": [nan]},
        "gradient norm": {"x": [], "y": []},
    }
    second = {"loss": {"x": [10, 20, 35], "y": [7.0, math.inf, 1.5]}, "validation loss": {"x": [35], "y": [1.75]}}
    return {"runs": [{"name": "first", "series": first}, {"name": "<b>second</b>", "series": second}]}


class Elements(HTMLParser):
    """The elements of a page as a browser would find them, and the text of its scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.scripts: list[str] = []
        self.title = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self.tags[-1:] == ["script"]:
            self.scripts[-1] += data
        elif self.tags[-1:] == ["title"]:
            self.title += data

    @property
    def facts(self) -> Any:
        return json.loads(self.scripts[0])


def test_no_text_ends_the_data_or_becomes_an_element() -> None:
    facts = translation([HOSTILE, "<eos>"], [HOSTILE, "<eos>"], model=HOSTILE)
    page = Elements(render_look(facts))
    assert page.facts["model"] == HOSTILE
    assert page.facts["target"]["tokens"] == [HOSTILE, "<eos>"]
    assert page.tags == Elements(render_look(translation())).tags
    assert page.title.startswith(HOSTILE)
    data = re.search(r'<script type="application/json" id="facts">(.*?)</script>', render_look(facts), re.DOTALL)
    assert data and not re.search("[<>&\u2028\u2029]", data[1])


def test_names_that_are_no_unicode_can_still_be_written(tmp_path: Path) -> None:
    name = b"runs/\xff".decode("utf-8", "surrogateescape")
    (tmp_path / "page.html").write_text(render_look(translation(model=name)), encoding="utf-8")
    assert "runs/?" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_attention_weights_come_back_to_a_65535th() -> None:
    facts = translation()
    entries = Elements(render_look(facts)).facts["attention"]
    assert len(entries) == len(facts["attention"])
    for entry, given in zip(entries, facts["attention"], strict=True):
        maps = [np.frombuffer(base64.b64decode(head), dtype="<u2") / 65535 for head in entry["heads"]]
        weights = np.stack(maps).reshape(-1, entry["queries"], entry["keys"])
        np.testing.assert_allclose(weights, given["weights"], atol=0.5001 / 65535)
        assert (entry["part"], entry["layer"]) == (given["part"], given["layer"])


def test_a_large_model_on_a_usual_sentence_stays_below_two_megabytes() -> None:
    tokens = [f"▁word{index}" for index in range(30)]
    facts = translation(tokens, tokens, attention=attention_of(30, 30, layers=6, heads=8))
    assert len(render_look(facts).encode()) < 1_000_000


def test_numbers_that_are_not_finite_become_null() -> None:
    runs = Elements(render_training(training())).facts["runs"]
    assert runs[0]["series"]["loss"]["y"] == [6.0, None, 4.0, None, 2.5]
    assert runs[1]["series"]["loss"]["y"] == [7.0, None, 1.5]
    weights = random_weights(2, 3, 5)
    weights[0, 1, 2] = np.nan
    (entry,) = Elements(render_look(translation(attention=[{"part": "cross", "layer": 0, "weights": weights}]))).facts[
        "attention"
    ]
    assert np.frombuffer(base64.b64decode(entry["heads"][0]), dtype="<u2")[1 * 5 + 2] == 0


@pytest.mark.parametrize("page", [render_look(translation()), render_training(training())], ids=["look", "training"])
def test_a_page_names_no_address_and_forbids_all_loading(page: str) -> None:
    assert "default-src 'none'" in page
    assert set(re.findall(r"https?://[^\"'\s]+", page)) == {"http://www.w3.org/2000/svg"}  # a name, never loaded
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|url\(|@import", page)


def test_every_file_of_the_pages_is_used() -> None:
    folder = resources.files("transduce.analysis") / "pages"
    assert {file.name for file in folder.iterdir()} == {*LOOK, *TRAINING, "page.css"}


# In a browser.


@pytest.fixture
def show(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Open a page from disk; in the end, it must have loaded nothing else and reported no error."""
    requests: list[str] = []
    problems: list[str] = []
    file = tmp_path / "page.html"
    contexts = []

    def open_page(text: str, width: int = 1200, scheme: str = "light") -> Any:
        file.write_text(text, encoding="utf-8")
        context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("request", lambda request: requests.append(request.url))
        page.on("console", lambda message: problems.append(message.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(file.as_uri())
        page.wait_for_selector("main h2")
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert problems == []
    assert set(requests) <= {file.as_uri(), "data:,"}
    assert requests.count(file.as_uri()) == len(contexts)


def stays_within_its_width(page: Any) -> bool:
    return page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def choose(page: Any, part: str, layer: str, head: str) -> None:
    page.locator(f"#attention input[value={part}]").check(force=True)
    page.get_by_role("combobox", name="Layer").select_option(label=layer)
    page.get_by_role("combobox", name="Head").select_option(label=head)


def hover_cell(page: Any, row: int, column: int, rows: int, columns: int) -> str:
    cells = page.locator("#attention canvas").first
    cells.scroll_into_view_if_needed()
    box = cells.bounding_box()
    cells.hover(position={"x": (column + 0.5) * box["width"] / columns, "y": (row + 0.5) * box["height"] / rows})
    return str(page.locator("#attention .readout").inner_text())


def test_a_head_is_chosen_and_a_cell_says_its_weight(show: Callable[..., Any]) -> None:
    facts = translation()
    page = show(render_look(facts))
    weights = {(entry["part"], entry["layer"]): entry["weights"] for entry in facts["attention"]}
    choose(page, "cross", "2", "3")
    assert hover_cell(page, 4, 1, 7, 5) == f"“ing” → “␣Hund”: {weights['cross', 1][2, 4, 1]:.3f}"
    choose(page, "encoder", "1", "mean of all")
    assert hover_cell(page, 3, 2, 5, 5) == f"“t” → “␣spiel”: {weights['encoder', 0].mean(0)[3, 2]:.3f}"
    choose(page, "decoder", "2", "maximum of all")
    assert hover_cell(page, 6, 0, 7, 7) == f"“.” → “<bos>”: {weights['decoder', 1].max(0)[6, 0]:.3f}"


def test_the_heat_map_is_walked_by_keyboard(show: Callable[..., Any]) -> None:
    facts = translation()
    page = show(render_look(facts))
    choose(page, "cross", "1", "1")
    page.locator("#attention .cells").focus()
    for key in ["ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight", "ArrowLeft", "ArrowUp"]:
        page.keyboard.press(key)
    (weights,) = (e["weights"] for e in facts["attention"] if (e["part"], e["layer"]) == ("cross", 0))
    readout = page.locator("#attention .readout")
    assert readout.inner_text() == f"“␣dog” → “␣Hund”: {weights[0, 1, 1]:.3f}"
    page.keyboard.press("End")
    page.keyboard.press("PageDown")
    page.keyboard.press("ArrowRight")
    assert readout.inner_text() == f"“<eos>” → “<eos>”: {weights[0, 6, 4]:.3f}"


def test_a_small_map_is_chosen_by_keyboard(show: Callable[..., Any]) -> None:
    page = show(render_look(translation()))
    choose(page, "cross", "1", "1")
    page.get_by_label("All layers").check()
    assert page.locator(".multiple").count() == LAYERS * HEADS
    page.get_by_role("button", name="Layer 1, head 1").focus()
    for _ in range(HEADS + 1):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert page.get_by_role("combobox", name="Layer").input_value() == "1"
    assert page.get_by_role("combobox", name="Head").input_value() == "1"
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Layer 2, head 2"
    assert page.locator(".multiple[aria-pressed=true]").count() == 1


LARGE_MAP = "document.querySelector('#attention canvas').toDataURL('image/png')"


def drawn(page: Any) -> Any:
    """The pixels of the large map, one a cell: [rows, columns, red green blue]."""
    address = page.evaluate(LARGE_MAP)
    picture = imread(io.BytesIO(base64.b64decode(address.partition(",")[2])))
    return np.rint(picture[..., :3] * 255)


def test_the_colours_are_those_of_the_weights(show: Callable[..., Any]) -> None:
    weights = np.zeros((1, 2, 3), dtype=np.float32)
    weights[0, 1, 2] = 1
    only = [{"part": "cross", "layer": 0, "weights": weights}]
    facts = translation(SOURCE[-3:], TARGET[-2:], attention=only, alignment=None)
    light, dark = show(render_look(facts)), show(render_look(facts), scheme="dark")
    assert (drawn(light)[1] == [[0xF1, 0xF4, 0xF8], [0xF1, 0xF4, 0xF8], [0x0A, 0x32, 0x63]]).all()
    assert (drawn(dark)[1] == [[0x1B, 0x1F, 0x25], [0x1B, 0x1F, 0x25], [0xEA, 0xF4, 0xFD]]).all()
    light.emulate_media(color_scheme="dark")
    light.wait_for_function(f"address => {LARGE_MAP} === address", arg=dark.evaluate(LARGE_MAP))
    assert light.locator(".multiple").count() == 0  # a single map has no others beside it


def test_a_token_says_its_probability_and_runners_up(show: Callable[..., Any]) -> None:
    page = show(render_look(translation()))
    panel = page.locator("#output .panel")
    assert "dog" in panel.inner_text()  # the least sure one is shown first
    page.locator(".written .token").nth(0).hover()
    assert "0.90" in panel.inner_text()
    page.locator(".written .token").nth(0).focus()
    page.keyboard.press("ArrowRight")
    words = panel.inner_text().split()
    assert words[words.index("Probability") + 1] == "0.25"
    assert words[words.index("Rank") + 1] == "2"
    assert [panel.locator(".runners bdi").nth(index).inner_text() for index in range(3)] == ["␣hound", "␣dog", "␣puppy"]
    assert "0.0030" in panel.inner_text()


def test_words_show_what_they_are_aligned_with(show: Callable[..., Any]) -> None:
    page = show(render_look(translation()))
    page.get_by_role("button", name="spielt", exact=True).focus()
    assert "“spielt” is aligned with “is”, “playing”." in page.locator("#output .readout").inner_text()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("End")
    assert "“.” is aligned with no word." in page.locator("#output .readout").inner_text()
    assert page.locator(".alignment path[d]").count() == 4


def test_the_tree_of_the_search_is_walked_by_keyboard(show: Callable[..., Any]) -> None:
    page = show(render_look(translation()))
    panel = page.locator("#search .panel")
    assert "best output at 7" in panel.inner_text()
    page.locator("#search [role=treeitem][tabindex='0']").focus()

    def after(*keys: str) -> str:
        for key in keys:
            page.keyboard.press(key)
        return str(panel.locator(".sentence").inner_text())

    assert after("Home", "ArrowRight", "ArrowRight") == "best output at 2"
    assert "0.50" in panel.inner_text() and "−1.39" in panel.inner_text() and "−0.500" in panel.inner_text()
    assert after("ArrowDown") == "pruned output at 2"
    assert after("ArrowRight") == "pruned output at 2"  # it was not continued
    assert after("ArrowLeft", "ArrowRight") == "best output at 2"
    assert after("ArrowRight", "ArrowDown", "ArrowDown") in ("finished output", "greedy output")
    assert page.locator("#search [role=treeitem][tabindex='0']").count() == 1


def test_pruned_nodes_can_be_hidden(show: Callable[..., Any]) -> None:
    page = show(render_look(translation()))
    shown = page.locator("#search [role=treeitem]")
    assert shown.count() == 1 + 2 * len(TARGET) + 2
    page.get_by_label("Hide pruned").check()
    assert shown.count() == 1 + len(TARGET) + 2
    page.get_by_label("Hide pruned").uncheck()
    page.get_by_role("treeitem", name="other, pruned").first.click()
    assert "pruned output at 1" in page.locator("#search .panel").inner_text()
    page.get_by_label("Hide pruned").check()
    assert "(nothing yet)" in page.locator("#search .panel").inner_text()


def test_no_node_of_a_wide_tree_covers_another(show: Callable[..., Any]) -> None:
    page = show(render_look(translation()))
    boxes = page.evaluate(
        """() => [...document.querySelectorAll("#search .tree .box")].map((box) => {
            const { x, y, width, height } = box.getBBox();
            return [x, y, width, height];
        })"""
    )
    for index, (x, y, width, height) in enumerate(boxes):
        for u, v, other_width, other_height in boxes[index + 1 :]:
            assert x + width <= u or u + other_width <= x or y + height <= v or v + other_height <= y


def test_leave_out_shows_each_measure_and_each_drop(show: Callable[..., Any]) -> None:
    facts = translation()
    page = show(render_look(facts))
    rows = page.locator("#leave-out tbody tr")
    assert rows.count() == len(SOURCE)
    assert "−1.25" in rows.nth(1).inner_text() and "0.200" in rows.nth(1).inner_text()
    assert "0.40" in page.locator(".agreement").inner_text()
    assert "gradient" not in page.locator(".agreement").inner_text()  # it has no number
    cells = page.locator("#leave-out .cells")
    cells.focus()
    drop = facts["occlusion"]["drops"][0][0]
    verb = "gains" if drop < 0 else "loses"
    assert page.locator("#leave-out .readout").inner_text() == f"Without “␣Ein”, “␣A” {verb}: {abs(drop):.2f} nats"


def test_sections_without_facts_are_left_out(show: Callable[..., Any]) -> None:
    recurrent = translation(
        attention=[], search=None, occlusion=None, gradient=None, attended=None, agreement=None, alignment=None
    )
    page = show(render_look(recurrent))
    assert page.locator("main section").count() == 1
    page = show(render_look(language()))
    assert page.locator("main section h2").all_inner_texts() == ["Output", "Attention", "Leaving tokens out"]
    assert "needs a source" in page.locator("#leave-out").inner_text()


def test_hostile_text_is_shown_as_text(show: Callable[..., Any]) -> None:
    tokens = [HOSTILE, "<eos>"]
    facts = translation(tokens, tokens, model=HOSTILE, search=search_of(tokens))
    facts["alignment"] = {**facts["alignment"], "source_words": [HOSTILE], "target_words": [HOSTILE], "links": [[0, 0]]}
    page = show(render_look(facts))
    assert page.locator("h1").text_content() == HOSTILE
    assert page.locator("img").count() == 0
    assert page.title() != "broken"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_on_its_ground(show: Callable[..., Any], scheme: str) -> None:
    page = show(render_look(translation()), scheme=scheme)
    style = page.evaluate(
        """() => Object.fromEntries(["ground", "surface", "ink", "muted", "accent", "on-accent", "doubt", "second"].map(
            (name) => [name, getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim()]))"""
    )
    for text, ground in [
        ("ink", "ground"),
        ("ink", "surface"),
        ("ink", "doubt"),
        ("muted", "ground"),
        ("muted", "surface"),
        ("accent", "ground"),
        ("on-accent", "accent"),
    ]:
        assert contrast(style[text], style[ground]) >= 4.5, (text, ground)
    assert contrast(style["second"], style["ground"]) >= 3


def contrast(one: str, other: str) -> float:
    """The contrast of two colours (WCAG 2.2, "contrast ratio")."""

    def luminance(colour: str) -> float:
        parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))

    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def test_a_page_fits_a_phone(show: Callable[..., Any]) -> None:
    positions = position_pictures(sinusoidal_positions(6, 8)).html()
    for text in (render_look(translation()), render_look(language()), render_training(training()), positions):
        assert stays_within_its_width(show(text, width=360))


def test_positions_are_drawn_on_the_page(show: Callable[..., Any]) -> None:
    page = show(position_pictures(sinusoidal_positions(6, 8)).html(), width=360, scheme="dark")
    assert page.locator("h1").inner_text() == "sinusoidal positions, 6 dimensions"
    page.keyboard.press("Tab")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    scrolled = "document.querySelector('.drawing').scrollLeft"
    for _ in range(100):  # scrolling is animated, and the page's policy lets nothing wait within it
        if page.evaluate(scrolled) > 0:
            break
        page.wait_for_timeout(20)
    assert page.evaluate(scrolled) > 0
    assert page.evaluate("getComputedStyle(document.querySelector('.drawing')).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator(".drawing image").count() >= 2


def test_text_from_right_to_left_has_that_direction(show: Callable[..., Any]) -> None:
    tokens = ["كلب", "يلعب", "<eos>"]
    facts = translation(SOURCE, tokens, target={"text": "كلب يلعب", "tokens": tokens, "direction": "rtl"})
    page = show(render_look(facts), width=360)
    assert stays_within_its_width(page)
    written = page.locator(".written")
    assert written.get_attribute("dir") == "rtl"
    places = [written.locator(".token").nth(index).bounding_box()["x"] for index in range(3)]
    assert places == sorted(places, reverse=True)
    written.locator(".token").nth(0).focus()
    page.keyboard.press("ArrowLeft")  # onwards, as it is seen
    assert "يلعب" in page.locator("#output .panel h3").inner_text()
    assert page.locator("#search .sentence").get_attribute("dir") == "rtl"
    assert page.locator(".read").get_attribute("dir") == "ltr"


def test_what_is_said_of_text_from_right_to_left_is_in_order(show: Callable[..., Any]) -> None:
    words, tokens = ["كلب", "يلعب"], ["كلب", "يلعب", "<eos>"]
    source = {"text": "كلب يلعب", "tokens": tokens, "direction": "rtl"}
    attention = attention_of(len(tokens), len(TARGET), LAYERS, HEADS)
    alignment = translation()["alignment"] | {"source_words": words, "links": [[0, 0], [1, 0]]}
    page = show(render_look(translation(tokens, source=source, attention=attention, alignment=alignment)))

    def are_in_order(readout: str) -> bool:
        return page.evaluate(
            """(readout) => {
                const walker = document.createTreeWalker(document.querySelector(readout), NodeFilter.SHOW_TEXT);
                const places = [];
                for (let node = walker.nextNode(); node; node = walker.nextNode()) {
                    const range = document.createRange();
                    range.selectNodeContents(node);
                    places.push(range.getBoundingClientRect().left);
                }
                return places.length > 3 && places.every((place, index) => !index || place > places[index - 1]);
            }""",
            readout,
        )

    page.locator("#attention .cells").focus()
    assert page.locator("#attention .readout").inner_text().startswith("“␣A” → “كلب”: 0.")
    assert are_in_order("#attention .readout")
    page.locator("#leave-out .cells").focus()
    assert are_in_order("#leave-out .readout")
    page.get_by_role("button", name="A", exact=True).focus()
    assert page.locator("#output .readout").inner_text() == "“A” is aligned with “كلب”, “يلعب”."
    assert are_in_order("#output .readout")


def test_the_scale_of_small_numbers_is_written(show: Callable[..., Any]) -> None:
    weights = np.full((1, 2, 3), 0.004, dtype=np.float32)
    drops = [[0.013, 0.0, 0.0], [0.0, 0.0, -0.002]]
    facts = translation(SOURCE[-3:], TARGET[-2:], attention=[{"part": "cross", "layer": 0, "weights": weights}])
    facts |= {"alignment": None, "occlusion": {"drops": drops, "total": [0.013, 0.0, -0.002]}}
    page = show(render_look(facts))
    assert page.locator("#attention .legend").first.inner_text().split() == ["weight", "0", "0.0040"]
    assert page.locator("#leave-out .legend").inner_text().split() == ["−0.013", "nats", "+0.013", "nats"]


@pytest.mark.parametrize("width", [360, 1200])
def test_a_sentence_of_120_tokens_scrolls_in_its_own_boxes(show: Callable[..., Any], width: int) -> None:
    tokens = [f"▁word{index}" for index in range(119)] + ["<eos>"]
    attention = attention_of(120, 120, layers=1, heads=2)
    words = [token.removeprefix("▁") for token in tokens[:-1]]
    alignment = {"layer": 0, "head": 0, "shift": 1, "source_words": words, "target_words": words, "links": [[0, 118]]}
    gradient = {"attributions": [0.1] * 120, "error": 0.0}
    facts = translation(tokens, tokens, attention=attention, alignment=alignment, gradient=gradient)
    page = show(render_look(facts), width=width)
    assert stays_within_its_width(page)
    assert page.evaluate("(box => box.scrollWidth > box.clientWidth)(document.querySelector('.heatmap'))")
    page.locator("#attention .cells").focus()
    page.keyboard.press("End")
    page.keyboard.press("PageDown")
    visible = """() => {
        const place = (name) => document.querySelector(name).getBoundingClientRect();
        const [box, cursor] = [place(".heatmap"), place(".cursor")];
        return cursor.right <= box.right + 3 && cursor.bottom <= box.bottom + 3 && cursor.left >= box.left;
    }"""
    assert page.evaluate(visible)
    assert page.locator("#attention .readout").inner_text().startswith("“<eos>” → “<eos>”")


def test_training_curves_show_their_values_at_an_update(show: Callable[..., Any]) -> None:
    page = show(render_training(training()))
    titles = page.locator("figure h3").all_inner_texts()
    assert [title.split()[0] for title in titles] == ["Loss", "Perplexity", "BLEU", "Learning"]
    loss = page.locator("figure").nth(0)
    loss.locator(".chart").focus()
    page.keyboard.press("Home")
    assert "Update 10" in loss.inner_text()
    assert "6" in loss.locator(".values b").nth(0).inner_text()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    values = loss.locator(".values").inner_text()
    assert "Update 35" in values and "1.5" in values and "1.75" in values and "(at 40)" in values
    assert "Update 40" in page.locator("figure").nth(2).inner_text()  # the nearest that has a BLEU
    box = loss.locator(".chart").bounding_box()
    loss.locator(".chart").hover(position={"x": box["width"] - 24, "y": 60})
    assert "Update 50" in loss.inner_text()


def test_a_gap_breaks_a_curve_and_a_value_alone_is_a_dot(show: Callable[..., Any]) -> None:
    page = show(render_training(training()))
    loss = page.locator("figure").nth(0)
    path = loss.locator("path.curve.is-training").nth(0).get_attribute("d")
    assert path.count("M") == 3 and "L" not in path and "NaN" not in path
    assert loss.locator("svg").first.locator("circle").count() >= 3
    assert "No values." in page.locator("figure").nth(1).inner_text()  # a perplexity that was never a number


def test_the_loss_has_a_log_scale(show: Callable[..., Any]) -> None:
    page = show(render_training(training()))
    curve = page.locator("figure").nth(0).locator("path.curve").nth(1)
    before = curve.get_attribute("d")
    page.get_by_label("Log scale").check()
    assert curve.get_attribute("d") != before
    assert "NaN" not in curve.get_attribute("d")


def test_a_run_can_be_hidden(show: Callable[..., Any]) -> None:
    page = show(render_training(training()))
    curves = page.locator("figure").nth(0).locator(".chart path.curve")
    assert curves.count() == 4
    page.get_by_label("<b>second</b>").uncheck()
    assert curves.count() == 2


def test_the_table_has_last_and_best_values(show: Callable[..., Any]) -> None:
    page = show(render_training(training()))
    rows = [row.split() for row in page.locator("#values tbody tr").all_inner_texts()]
    assert ["Loss", "first", "2.5", "2.5", "50"] in rows
    assert ["<b>second</b>", "1.5", "1.5", "35"] in rows
    assert ["BLEU", "first", "30.5", "30.5", "40"] in rows
    assert ["Learning", "rate", "first", "6×10⁻⁴", "–", "–"] in rows
