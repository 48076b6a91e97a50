"""Whole figures, ready to be saved: one sentence, trainings, positions."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from transduce.analysis.design import colour_map, colours, styled
from transduce.analysis.findings import AttentionMap, Findings
from transduce.analysis.plots import (
    confidence_bars,
    curves,
    heat_map,
    readable,
    search_tree,
    side_by_side_bars,
)
from transduce.analysis.position_vectors import PositionVectors
from transduce.analysis.training_log import Curves
from transduce.phrases.phrase_model import Used

PANELS = (
    ["loss", "validation loss"],
    ["perplexity"],
    ["bleu"],
    ["learning rate"],
    ["tokens per second"],
    ["gradient norm"],
)
TITLES = {
    "encoder": "source to source",
    "decoder": "target to target",
    "query": "query stream to target",
    "cross": "target to source",
}
PER_TOKEN = 0.16  # inches of a heat map
PER_LETTER = 0.06  # inches of a label in the tree of a search


@styled()
def draw_look(look: Findings) -> Figure:
    """Draws the attention of every layer (the mean of its heads), confidence, leave-out, and the search."""
    of_source = [] if look.source is None else look.source.tokens
    longest = max(len(of_source), len(look.read))
    columns = 3
    map_rows = math.ceil(len(look.attention) / columns)
    size = max(PER_TOKEN * longest + 0.9, 2.6)
    heights = [size] * map_rows + ([2.4] if look.confidence else [])
    heights += [2.4, PER_TOKEN * len(look.target.tokens) + 1.3] if look.occlusion is not None else []
    heights += [_height_of(look)] if look.search is not None else []
    width = max(columns * size + 0.6, _width_of(look))
    figure = Figure(figsize=(width, sum(heights) + 0.4 * len(heights)), layout="constrained")
    grid = figure.add_gridspec(len(heights), columns, height_ratios=heights)
    for number, attention in enumerate(look.attention):
        axes = figure.add_subplot(grid[number // columns, number % columns])
        image = heat_map(axes, attention.weights.mean(0), *_tokens(look, attention))
        figure.colorbar(image, ax=axes, shrink=0.6, pad=0.02).ax.tick_params(labelsize=6)
        title = f"{TITLES[attention.part]}, layer {attention.layer + 1}, mean of {len(attention.weights)} heads"
        axes.set_title(title, fontsize=8)
    row = map_rows
    if look.confidence:
        confidence_bars(figure.add_subplot(grid[row, :]), look.confidence)
        row += 1
    if look.occlusion is not None:
        measures = {"hiding it (occlusion)": look.occlusion.total}
        if look.gradient is not None:
            measures["integrated gradients"] = look.gradient.attributions
        if look.attended is not None:
            measures["attention"] = look.attended
        side_by_side_bars(figure.add_subplot(grid[row, :]), measures, of_source)
        drops = figure.add_subplot(grid[row + 1, :])
        image = heat_map(drops, look.occlusion.drops, look.target.tokens, of_source, is_signed=True)
        lowered = "each target token's log-probability (nats)" if look.unit == "nats" else "the score"
        drops.set_title(f"by how much hiding a source token lowers {lowered}", fontsize=8)
        figure.colorbar(image, ax=drops, shrink=0.8)
    if look.search is not None:
        search_tree(figure.add_subplot(grid[len(heights) - 1, :]), look.search)
    return figure


@styled()
def draw_why(title: str, words: Sequence[str], measures: Mapping[str, Sequence[float]]) -> Figure:
    """Draws what each word that a model had read says for its choice, by several measures, in nats."""
    figure = Figure(figsize=(max(0.4 * len(words), 5), 3), layout="constrained")
    axes = figure.subplots()
    side_by_side_bars(axes, {name: np.array(values) for name, values in measures.items()}, words)
    axes.set_title(readable(title), fontsize=9)
    return figure


@styled()
def draw_phrases(phrases: Sequence[Used]) -> Figure:
    """Draws the phrases of a source and of its translation, each in their order, with a line from each to its own."""
    rows = [(used.source, used.target) for used in phrases]
    order = sorted(range(len(rows)), key=lambda number: phrases[number].span)
    places = [dict.fromkeys(range(len(rows)), 0.0) for _ in rows[:1] * 2]
    for side, numbers in enumerate((order, range(len(rows)))):
        at = 0.0
        for number in numbers:
            width = len(rows[number][side]) + 2
            places[side][number] = at + width / 2
            at += width
    longest = max(sum(len(row[side]) + 2 for row in rows) for side in (0, 1))
    figure = Figure(figsize=(max(PER_LETTER * 2 * longest, 3), 1.6), layout="constrained")
    axes = figure.add_subplot()
    axes.set(xlim=(0, longest), ylim=(-0.4, 1.4))
    axes.axis("off")
    for number, row in enumerate(rows):
        ends = [places[side][number] for side in (0, 1)]
        if row[0]:
            axes.plot(ends, (0.85, 0.15), color=colours()["accent"])
        for side, height in ((0, 1.0), (1, 0.0)):
            axes.text(ends[side], height, readable(row[side]), ha="center", va="center", fontsize=8)
    return figure


@styled()
def draw_training(runs: Sequence[Curves]) -> Figure:
    """Draws losses, perplexity, BLEU, learning rate, speed and gradient norm of runs beside each other, then their
    other figures."""
    logged = dict.fromkeys(kind for run in runs for kind in run.series)
    usual = [kinds for kinds in PANELS if any(kind in logged for kind in kinds)]
    panels = usual + [[kind] for kind in logged if not any(kind in kinds for kinds in PANELS)]
    rows = math.ceil(len(panels) / 2)
    figure = Figure(figsize=(10, 3 * max(rows, 1)), layout="constrained")
    if not panels:
        figure.text(0.5, 0.5, "nothing is logged yet", ha="center", va="center")
    grid = figure.add_gridspec(max(rows, 1), 2)
    for number, kinds in enumerate(panels):
        is_last_of_odd = number == len(panels) - 1 and number % 2 == 0  # which is as wide as two
        cell = grid[number // 2, :] if is_last_of_odd else grid[number // 2, number % 2]
        curves(figure.add_subplot(cell), runs, kinds)
    return figure


@styled()
def draw_learning(runs: Sequence[Curves], panels: Sequence[Sequence[str]], axis: str) -> Figure:
    """Draws curves of a model as it learns, over what the axis counts: a row for each panel's kinds."""
    figure = Figure(figsize=(9, 2.6 * len(panels)), layout="constrained")
    for axes, kinds in zip(figure.subplots(len(panels), 1, squeeze=False)[:, 0], panels, strict=True):
        curves(axes, runs, kinds)
        axes.set_xlabel(axis)
    return figure


@styled()
def draw_positions(positions: PositionVectors) -> Figure:
    """Draws the vectors, their dot products, and these by distance."""
    figure = Figure(figsize=(11, 3.6), layout="constrained")
    figure.suptitle(readable(positions.title), fontsize=10)
    vectors, products, by_distance = figure.subplots(1, 3)
    image = vectors.imshow(positions.vectors, cmap=colour_map("diverging"), aspect="auto", interpolation="nearest")
    vectors.set(xlabel="dimension", ylabel="position")
    figure.colorbar(image, ax=vectors)
    image = products.imshow(positions.products, cmap=colour_map("sequential"), interpolation="nearest")
    products.set(xlabel="position", ylabel="position", title="dot products")
    figure.colorbar(image, ax=products)
    by_distance.plot(positions.by_distance, color=colours()["accent"])
    by_distance.set(xlabel="distance", title="mean dot product by distance")
    by_distance.grid()
    return figure


def _tokens(look: Findings, attention: AttentionMap) -> tuple[list[str], list[str]]:
    """Returns the tokens that attend and the tokens attended to."""
    of_source = [] if look.source is None else look.source.tokens
    return {
        "encoder": (of_source, of_source),
        "decoder": (look.read, look.read),
        "query": (look.target.tokens, look.read),
        "cross": (look.target.tokens, of_source),
    }[attention.part]


def _width_of(look: Findings) -> float:
    """Returns the width in inches in which the labels of each step of the search stand apart."""
    if look.search is None:
        return 0.0
    of_step: dict[int, int] = {}
    for node in look.search.nodes:
        of_step[node.step] = max(of_step.get(node.step, 0), len(node.token))
    return len(of_step) * (PER_LETTER * max(of_step.values()) + PER_TOKEN) + 1.0


def _height_of(look: Findings) -> float:
    """Returns the height of the tree in inches: a line for each leaf."""
    assert look.search is not None
    parents = {node.parent for node in look.search.nodes}
    return max(0.13 * sum(node.id not in parents for node in look.search.nodes), 2.0)
