"""Drawings with matplotlib, on axes that are handed in."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from transduce.analysis.design import colour_map, colours, runs, styled
from transduce.analysis.findings import Confidence, SearchTree
from transduce.analysis.fonts import save_figure
from transduce.analysis.probes import Probe
from transduce.analysis.search_tree import NodeState, SearchNode
from transduce.analysis.training_log import Curves, Series, read_curves
from transduce.base.errors import InputError

Growth = tuple[Sequence[float], Sequence[tuple[float, float, float]]]
"""Measured scores, and for each forecast its score and the ends of its interval."""
DASHES: tuple[Any, ...] = ("-", "--", ":", "-.")
NODE_COLOURS: Mapping[NodeState, str] = {
    "chosen": colours()["accent"],
    "finished": colours()["run-3"],
    "active": colours()["ink"],
    "pruned": "#a9b0b8",
    "greedy": colours()["second"],
}


def readable(token: str) -> str:
    """Returns a token with its marks of spaces as an open box, which fonts have; `$` is not a formula."""
    shown = token.replace("▁", "␣").replace("Ġ", "␣").replace("\n", "⏎").replace("Ċ", "⏎").replace("\t", "⇥")
    return shown.replace("$", r"\$")


def heat_map(
    axes: Axes, values: NDArray[np.floating], rows: Sequence[str], columns: Sequence[str], is_signed: bool = False
) -> AxesImage:
    """Draws [rows, columns] with a token for each; values from 0 to the largest; if signed, as far below 0."""
    largest = float(np.abs(values).max(initial=0)) or 1.0
    image = axes.imshow(
        values,
        cmap=colour_map("diverging" if is_signed else "sequential"),
        vmin=-largest if is_signed else 0.0,
        vmax=largest,
        aspect="auto",
        interpolation="nearest",
    )
    labels = [readable(token) for token in columns]
    turned = 90 if any(len(label) > 1 for label in labels) else 0  # a single letter is as narrow upright
    axes.set_xticks(range(len(labels)), labels, rotation=turned, fontsize=7)
    axes.set_yticks(range(len(rows)), [readable(token) for token in rows], fontsize=7)
    axes.tick_params(length=0)
    return image


def check_picture(path: Path) -> None:
    """Raises InputError for a file that no picture can be drawn into."""
    if path.suffix not in (".png", ".svg", ".pdf"):
        raise InputError(f"{path}: a picture must end in .png, .svg or .pdf")
    if path.is_dir() or not path.parent.is_dir():
        raise InputError(f"{path}: {'it is a folder' if path.is_dir() else 'its folder does not exist'}")


def plot_confusion(labels: Sequence[str], counts: NDArray[np.integer], path: Path) -> None:
    """Draws how often each class was predicted for each true one, [true, predicted], numbers on shares.

    Raises InputError for a file that cannot be written, or of another kind than .png, .svg and .pdf.
    """
    size = 1.8 + 0.55 * len(labels)
    _save(lambda: _confusion(labels, counts, size), path)


def plot_forecast(sizes: Sequence[int], later: Sequence[int], scores: Mapping[str, Growth], path: Path) -> None:
    """Draws scores, by name, over the numbers of pairs: measured at some sizes, forecast with intervals at later ones.

    Raises InputError for a file that cannot be written, or of another kind than .png, .svg and .pdf.
    """
    _save(lambda: _forecast(sizes, later, scores), path)


def plot_probes(probes: Sequence[Probe], path: Path) -> None:
    """Draws the accuracy of probes, and of their controls, from the bottom of the model to its top.

    Raises InputError for a file that cannot be written, or of another kind than .png, .svg and .pdf.
    """
    _save(lambda: _probes(probes), path)


def _save(make: Callable[[], Figure], path: Path) -> None:
    check_picture(path)
    try:
        with styled():
            save_figure(make, path, dpi=150)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from None


def _forecast(sizes: Sequence[int], later: Sequence[int], scores: Mapping[str, Growth]) -> Figure:
    figure = Figure(figsize=(5, 3.4), layout="constrained")
    axes = figure.subplots()
    for colour, (name, (measured, estimates)) in zip(runs(), scores.items(), strict=False):
        x = [sizes[-1], *later]
        score, low, high = zip(*[[measured[-1]] * 3, *estimates], strict=True)
        axes.plot(sizes, measured, color=colour, marker="o", markersize=4, label=name)
        axes.plot(x, score, color=colour, linestyle="--", marker="o", markersize=4, markerfacecolor="none")
        axes.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)
    axes.set_xscale("log")
    axes.set_xticks([*sizes, *later], [f"{size:,}" for size in (*sizes, *later)], rotation=45, ha="right")
    axes.minorticks_off()
    axes.set(xlabel="sentence pairs", ylabel="score", ylim=(0, None))
    axes.grid(axis="y")
    axes.legend(loc="upper left", title="measured; dashed: forecast, 80 % intervals", title_fontsize=7)
    return figure


def _probes(probes: Sequence[Probe]) -> Figure:
    figure = Figure(figsize=(5, 3.4), layout="constrained")
    axes = figure.subplots()
    names = [probe.place.partition(".")[2] for probe in probes]
    axes.plot(names, [probe.accuracy for probe in probes], color=runs()[0], marker="o", markersize=4, label="probe")
    axes.plot(
        names, [probe.control for probe in probes], "--", color=runs()[1], marker="o", markersize=4, label="control"
    )
    axes.axhline(probes[0].majority, color=colours()["muted"], linewidth=0.6, label="most frequent label")
    axes.tick_params(axis="x", rotation=45)
    axes.set(ylabel="accuracy", ylim=(0, 1))
    axes.grid(axis="y")
    axes.legend(fontsize=7)
    return figure


def _confusion(labels: Sequence[str], counts: NDArray[np.integer], size: float) -> Figure:
    figure = Figure(figsize=(size + 1, size), layout="constrained")
    axes = figure.subplots()
    shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)  # of each true class, [true, predicted]
    image = axes.imshow(shares, cmap=colour_map("sequential"), vmin=0, vmax=1)
    for row, column in np.ndindex(*counts.shape):
        colour = colours()["on-accent" if shares[row, column] > 0.55 else "ink"]
        axes.text(column, row, f"{counts[row, column]:,}", ha="center", va="center", color=colour, fontsize=8)
    axes.set_xticks(range(len(labels)), [readable(label) for label in labels], rotation=45, ha="right")
    axes.set_yticks(range(len(labels)), [readable(label) for label in labels])
    axes.set_xlabel("predicted")
    axes.set_ylabel("true")
    figure.colorbar(image, label="share of the true class")
    return figure


def confidence_bars(axes: Axes, tokens: Sequence[Confidence]) -> None:
    """Draws the probability of each token of an output, and its likeliest rival's."""
    x = np.arange(len(tokens))
    axes.bar(x, [token.probability for token in tokens], 0.8, color=runs()[0], label="the output's token")
    rivals = [token.alternatives[0].probability if token.alternatives else 0.0 for token in tokens]
    axes.plot(x, rivals, linestyle="none", marker="_", markersize=9, color=runs()[1], label="the likeliest other")
    axes.set_xticks(x, [readable(token.token) for token in tokens], rotation=90, fontsize=7)
    axes.set_ylim(0, 1)
    axes.set_ylabel("probability")
    axes.legend(frameon=False, fontsize=7, loc="lower right", bbox_to_anchor=(1, 1), ncols=3)  # above the axes


def side_by_side_bars(axes: Axes, measures: Mapping[str, NDArray[np.floating]], tokens: Sequence[str]) -> None:
    """Draws several measures of each token, each as a share of its own largest."""
    width = 0.8 / max(len(measures), 1)
    for number, (name, values) in enumerate(measures.items()):
        x = np.arange(len(tokens)) + (number - (len(measures) - 1) / 2) * width
        largest = float(np.abs(values).max(initial=0)) or 1.0
        axes.bar(x, np.asarray(values) / largest, width, color=runs()[number], label=name)
    axes.axhline(0, color=colours()["muted"], linewidth=0.6)
    axes.set_xticks(range(len(tokens)), [readable(token) for token in tokens], rotation=90, fontsize=7)
    axes.set_ylabel("share of the largest")
    axes.legend(frameon=False, fontsize=7, loc="lower right", bbox_to_anchor=(1, 1), ncols=3)  # above the axes


def search_tree(axes: Axes, tree: SearchTree) -> None:
    """Draws all that a beam considered, step by step from left to right."""
    heights = _heights(tree.nodes)
    for node in tree.nodes:
        if node.parent is None:
            continue
        parent = tree.nodes[node.parent]
        colour = NODE_COLOURS[node.state]
        axes.plot(
            [parent.step, node.step],
            [heights[parent.id], heights[node.id]],
            color=colour,
            linewidth=2.0 if node.state == "chosen" else 0.7,
            linestyle="--" if node.greedy and node.state != "chosen" else "-",
            zorder=2 if node.state == "chosen" else 1,
        )
        mark = {"facecolor": "white", "edgecolor": colour, "boxstyle": "round,pad=0.15", "linewidth": 0.6}
        label = readable(node.token) + ("*" if node.greedy else "")
        axes.text(
            node.step, heights[node.id], label, color=colour, fontsize=6, ha="center", va="center", bbox=mark, zorder=3
        )
    present = {node.state for node in tree.nodes}
    states = [(state, colour) for state, colour in NODE_COLOURS.items() if state in present]
    handles = [mpl.lines.Line2D([], [], color=colour, label=state) for state, colour in states]
    axes.legend(handles=handles, frameon=False, fontsize=7, loc="lower right", title="* greedy", title_fontsize=7)
    axes.set_xlabel("step")
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    last = max(node.step for node in tree.nodes)
    axes.set_xlim(-0.6, last + 0.6)  # whole labels of the first and the last step
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def curves(axes: Axes, shown: Sequence[Curves], kinds: Sequence[str]) -> None:
    """Draws series of these kinds over the updates, a colour for each run and a dash for each kind.

    The legend leaves out a single run or kind: the axis or the figure's title names it.
    """
    palette = runs()
    for number, run in enumerate(shown):
        for dash, kind in zip(DASHES, kinds, strict=False):
            series = run.series.get(kind, Series([], []))
            if not series.x:
                continue
            label = readable(kind if len(shown) == 1 else f"{run.name}, {kind}" if len(kinds) > 1 else run.name)
            label = f" {label}" if label.startswith("_") else label  # which matplotlib would leave out of the legend
            marker = "o" if len(series.x) < 40 else ""
            colour = palette[(number + (kinds.index(kind) if len(shown) == 1 else 0)) % len(palette)]
            axes.plot(series.x, series.y, dash, color=colour, label=label, marker=marker, markersize=3)
    axes.set_ylabel(kinds[0])
    axes.set_xlabel("updates")
    axes.set_xlim(left=0)  # updates before the first report are part of the training too
    axes.grid()
    if len(axes.lines) > 1:
        axes.legend(fontsize=7)


@styled()
def plot_training_curves(log: Path, picture: Path) -> None:
    """Draws loss and learning rate over the updates of a run's `log.jsonl` into a PNG file."""
    run = read_curves(log)
    figure = Figure(figsize=(7, 6), layout="constrained")
    losses, rates = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1])
    curves(losses, [run], ["loss", "validation loss"])
    losses.set(ylabel="loss (nats per target token)", xlabel="")
    curves(rates, [run], ["learning rate"])
    rates.set_ylim(bottom=0)
    figure.savefig(picture, dpi=120)


def _heights(nodes: Sequence[SearchNode]) -> dict[int, float]:
    """Returns heights: a line for each leaf, other nodes at that of their best child, so the best path is straight."""
    children: dict[int, list[SearchNode]] = {}
    for node in nodes:
        if node.parent is not None:
            children.setdefault(node.parent, []).append(node)
    heights: dict[int, float] = {}
    order = ("chosen", "finished", "active", "greedy", "pruned")
    lines = 0
    stack = [(nodes[0], False)]
    while stack:
        node, are_children_placed = stack.pop()
        below = sorted(children.get(node.id, []), key=lambda child: (order.index(child.state), -child.score))
        if not below:
            heights[node.id] = -float(lines)
            lines += 1
        elif are_children_placed:
            heights[node.id] = heights[below[0].id]
        else:
            stack.append((node, True))
            stack += [(child, False) for child in reversed(below)]
    return heights
