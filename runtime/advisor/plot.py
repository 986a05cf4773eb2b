"""Draws the heat of sources over the turns of a session. It knows turns as `history.py` gives them, and no entries.

Needs the extra `plot` (matplotlib). Nothing is shown on a screen: the picture is a file.
"""

import warnings
from collections.abc import Sequence
from io import BytesIO, StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Final

from host_bridge.neutral_text import neutralise
from runtime.advisor.constants import WEAK_BAND_WIDTH
from runtime.advisor.fingerprint import label
from runtime.advisor.history import Turn
from runtime.advisor.plot_page import html_page

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PALETTE: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#8C6D1F", "#56B4E9")
"""Told apart by people who see colours differently, too (after Okabe and Ito; its yellow is darkened for print)."""
DRAWN_SOURCES: Final = len(PALETTE)
"""The most sources that are drawn: those that fired, were used, or grew hottest."""
LABELLED_TURNS: Final = 24
"""Up to this many turns carry their prompt's beginning below the axis."""
PROMPT_CHARACTERS: Final = 30
SUFFIXES: Final = (".svg", ".html", ".png")

_INK: Final = "#333333"
_FAINT: Final = "#9A9A9A"
_BURNED: Final = "#E4E1DC"


class PlotExtraMissingError(Exception):
    """matplotlib is not installed; the message says how to get it."""


def save_plot(turns: Sequence[Turn], threshold: float, title: str, path: Path) -> None:
    """Write the picture as SVG, HTML (the SVG with a table of the turns) or PNG, as the suffix of `path` says.

    Raises:
        PlotExtraMissingError: matplotlib is missing.
        ValueError: another suffix.
        OSError: the file cannot be written.
    """
    if path.suffix not in SUFFIXES:
        raise ValueError(f"{path}: the picture can be {', '.join(SUFFIXES)}")
    figure = draw(turns, threshold, title)
    if path.suffix == ".png":
        buffer = BytesIO()
        _save(figure, buffer, "png")
        path.write_bytes(buffer.getvalue())
        return
    text = StringIO()
    _save(figure, text, "svg")
    svg = text.getvalue()
    path.write_text(svg if path.suffix == ".svg" else html_page(svg, turns, title), encoding="utf-8")


def draw(turns: Sequence[Turn], threshold: float, title: str) -> "Figure":
    """The picture: heat curves with the fire point above, what fired and burned in rows below."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise PlotExtraMissingError("drawing needs matplotlib: pip install 'pi-fabric-py[plot]'") from error
    sources = drawn_sources(turns)
    colours = dict(zip(sources, PALETTE, strict=False))
    labelled = len(turns) <= LABELLED_TURNS
    figure = Figure(
        figsize=(max(7.5, min(16.0, 2.6 + 0.55 * len(turns))), 4.4 + 0.34 * len(sources) + (1.3 if labelled else 0.3)),
        layout="constrained",
    )
    heat_axes, row_axes = figure.subplots(
        2, 1, sharex=True, gridspec_kw={"height_ratios": [3.2, 0.42 * max(1, len(sources)) + 0.2]}
    )
    _draw_heat(heat_axes, turns, sources, colours, threshold)
    _draw_rows(row_axes, turns, sources, colours)
    heat_axes.set_title(_drawable(title), loc="left", fontsize=12, color=_INK, pad=10)
    row_axes.set_xlim(0.4, len(turns) + 0.6)
    numbers = range(1, len(turns) + 1)
    if labelled:
        row_axes.set_xticks(
            list(numbers), [f"{_short(turn.prompt)}  {n}" for n, turn in zip(numbers, turns, strict=True)]
        )
        row_axes.tick_params(axis="x", rotation=38, labelsize=8)
        for tick in row_axes.get_xticklabels():
            tick.set_horizontalalignment("right")
            tick.set_rotation_mode("anchor")
    else:
        row_axes.set_xlabel("turn", color=_INK)
    return figure


def drawn_sources(turns: Sequence[Turn]) -> list[str]:
    """The sources worth drawing: what fired or was used first, then by the most heat; at most six."""
    peak: dict[str, float] = {}
    for turn in turns:
        for namespace, heat in turn.heat.items():
            peak[namespace] = max(peak.get(namespace, 0.0), heat)
    told = dict.fromkeys(namespace for turn in turns for namespace in (*turn.fired, *turn.used))
    by_heat = sorted(peak, key=lambda namespace: (-peak[namespace], namespace))
    return list(dict.fromkeys([*told, *by_heat]))[:DRAWN_SOURCES]


def _draw_heat(
    axes: "Axes", turns: Sequence[Turn], sources: Sequence[str], colours: dict[str, str], threshold: float
) -> None:
    """Curves that drop to zero where a source burned, the fire point as steps, and a mark per hint."""
    numbers = list(range(1, len(turns) + 1))
    top = max([threshold * 1.25, *(heat for turn in turns for heat in turn.heat.values())], default=1.0)
    top = max(top, *(turn.fire_point * 1.12 for turn in turns)) if turns else top
    strong = any(turn.register == "matched" for turn in turns)
    axes.step(
        [0.5, *[n + 0.5 for n in numbers]],
        [threshold, *[turn.fire_point for turn in turns]],
        where="pre",
        color=_INK,
        linewidth=1.1,
        linestyle=(0, (5, 3)),
    )
    axes.annotate(
        "fire point",
        (len(turns) + 0.55, turns[-1].fire_point if turns else threshold),
        xytext=(0, 4),
        textcoords="offset points",
        ha="right",
        fontsize=8,
        color=_INK,
    )
    for namespace in sources:
        xs, ys = _curve(turns, namespace)
        if any(ys):
            axes.plot(xs, ys, color=colours[namespace], linewidth=2, solid_joinstyle="round", zorder=3)
            axes.fill_between(xs, ys, color=colours[namespace], alpha=0.07, linewidth=0, zorder=1)
    ceiling = top * 1.2 if strong else top
    for number, turn in zip(numbers, turns, strict=True):
        for place, namespace in enumerate(turn.fired):
            _draw_fire(axes, number, turn, namespace, place, colours.get(namespace, _INK), ceiling * 0.93)
    if strong:
        axes.axhspan(top, ceiling * 1.02, color="#F4F1EA", zorder=0, linewidth=0)
        axes.annotate(
            f"strong: one tool scored {threshold + WEAK_BAND_WIDTH:g} or more, no heat needed",
            (0.45, ceiling * 1.005),
            va="top",
            fontsize=7.5,
            color=_FAINT,
        )
    axes.set_ylim(0, ceiling * 1.02)
    axes.set_yticks([tick for tick in axes.get_yticks() if tick <= top])
    axes.set_ylabel("heat", color=_INK)
    _quiet(axes)


def _draw_fire(
    axes: "Axes", number: int, turn: Turn, namespace: str, place: int, colour: str, strong_height: float
) -> None:
    """One mark: a triangle for a strong hint, a disc on the curve for one that heat fired."""
    strong = turn.register == "matched"
    height = strong_height if strong else turn.heat.get(namespace, 0.0)
    if not strong and height == 0:
        height = turn.scores.get(namespace, turn.fire_point)
    x = number + 0.12 * place
    axes.vlines(x, 0, height, color=colour, linewidth=1, linestyle=":", zorder=2)
    axes.plot(
        [x], [height], marker="^" if strong else "o", markersize=9, color=colour, markeredgecolor="white", zorder=5
    )
    axes.annotate(
        _drawable(label(namespace)),
        (x, height),
        xytext=(8, (-3 if strong else 4) - 9 * place),
        textcoords="offset points",
        fontsize=8.5,
        color=colour,
        zorder=6,
    )


def _curve(turns: Sequence[Turn], namespace: str) -> tuple[list[float], list[float]]:
    """Heat by turn, from nothing at the start, with the fall to zero where the source fired."""
    xs, ys = [0.5], [0.0]
    for number, turn in enumerate(turns, 1):
        xs.append(number)
        ys.append(turn.heat.get(namespace, 0.0))
        if namespace in turn.fired:
            if ys[-1]:
                xs.append(number)
                ys.append(0.0)
            break  # burned: what is left of its story is the grey row
    warm = next((place for place, heat in enumerate(ys) if heat), len(ys))
    return xs[max(0, warm - 1) :], ys[max(0, warm - 1) :]


def _draw_rows(axes: "Axes", turns: Sequence[Turn], sources: Sequence[str], colours: dict[str, str]) -> None:
    """A row per source: warm cells, the hint, the calls, and grey from where it is burned."""
    for row, namespace in enumerate(sources):
        colour = colours[namespace]
        burned_from: float | None = None
        cause = ""
        for number, turn in enumerate(turns, 1):
            heat = turn.heat.get(namespace, 0.0)
            if heat and burned_from is None:
                axes.barh(row, 0.9, 0.62, number - 0.45, color=colour, alpha=min(0.75, 0.12 + 0.6 * heat), linewidth=0)
            if namespace in turn.fired:
                axes.plot(
                    [number],
                    [row],
                    marker="^" if turn.register == "matched" else "o",
                    color=colour,
                    markersize=8,
                    markeredgecolor="white",
                    zorder=5,
                )
            if namespace in turn.used:
                axes.plot([number + 0.3], [row], marker="x", color=_INK, markersize=6, markeredgewidth=1.6, zorder=6)
            if burned_from is None and (namespace in turn.fired or namespace in turn.used):
                burned_from = number + 0.5
                cause = "hint" if namespace in turn.fired else "call"
        if burned_from is not None and burned_from < len(turns) + 0.5:
            width = len(turns) + 0.5 - burned_from
            axes.barh(row, width, 0.62, burned_from, color=_BURNED, linewidth=0, zorder=0)
            if width >= 2:
                axes.text(
                    len(turns) + 0.4, row, f"burned by a {cause}", va="center", ha="right", fontsize=7.5, color=_FAINT
                )
    axes.set_yticks(range(len(sources)), [_drawable(label(namespace)) for namespace in sources])
    axes.set_ylim(max(1, len(sources)) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0, labelsize=9)
    _quiet(axes)
    for tick, namespace in zip(axes.get_yticklabels(), sources, strict=True):
        tick.set_color(colours[namespace])
    axes.spines["left"].set_visible(False)
    axes.set_xlabel(
        "\u25b2 matched   \u25cf might match   \u00d7 a tool was called", fontsize=8, color=_FAINT, labelpad=8
    )


def _quiet(axes: "Axes") -> None:
    """No box, light ink."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(_FAINT)
    axes.tick_params(colors=_INK)


def _save(figure: "Figure", target: BytesIO | StringIO, form: str) -> None:
    """Write the figure; text stays text in SVG, and letters that the font lacks are the viewer's business."""
    import matplotlib as mpl

    with warnings.catch_warnings(), mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "pi-fabric"}):
        warnings.filterwarnings("ignore", message="Glyph")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")
        metadata = {"Date": None} if form == "svg" else None
        figure.savefig(target, format=form, dpi=150, metadata=metadata)


def _short(prompt: str) -> str:
    """The beginning of a prompt on one line."""
    line = " ".join(prompt.split())
    return _drawable(line if len(line) <= PROMPT_CHARACTERS else line[: PROMPT_CHARACTERS - 1] + "…")


def _drawable(text: str) -> str:
    """`text` as the picture can hold it: `$` would start a formula, and XML has no control characters."""
    return neutralise(text).replace("$", r"\$")
