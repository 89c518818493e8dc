"""Charts of simulations: input tokens per turn, a line for each policy, as a picture or as a page."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from threadkeep.context.simulation.simulation import Reach, SimulatedPolicy, Simulation
from threadkeep.errors import ConfigurationError, MissingExtra

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Draw = Callable[[Simulation, Path], None]

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c564b", "#6a3d9a")
"""Colours that people with the usual kinds of colour blindness tell apart (Okabe and Ito), and two more."""
_STYLES = ("-", "--", "-.", ":")
_SIZE = (9.6, 5.4)
_DPI = 160
_DRAWN = re.compile(r"[^\u0020-\u04ff]")


def drawer(path: Path) -> Draw:
    """Return what draws a chart into a file of this name.

    Raises ConfigurationError for a name that ends neither in .html nor in .png, or a folder that is not there, and
    MissingExtra without matplotlib.
    """
    draw = {".html": draw_page, ".png": draw_picture}.get(path.suffix.lower())
    if draw is None:
        raise ConfigurationError(f"--chart is {str(path)!r}; give a file that ends in .html or .png")
    if not path.parent.is_dir():
        raise ConfigurationError(f"--chart is {str(path)!r}, but there is no folder {str(path.parent)!r}")
    if find_spec("matplotlib") is None:
        raise MissingExtra("charts need matplotlib; run: pip install 'threadkeep[charts]'")
    return lambda found, where: _written(draw, found, where)


def _written(draw: Draw, found: Simulation, path: Path) -> None:
    try:
        draw(found, path)
    except OSError as error:
        raise ConfigurationError(
            f"cannot write {str(path)!r} ({error.strerror or error}); check the path and its permissions"
        ) from None


def draw_picture(found: Simulation, path: Path) -> None:
    """Write the chart as a PNG picture."""
    _figure(found).savefig(path, format="png", dpi=_DPI)


def draw_page(found: Simulation, path: Path) -> None:
    """Write the chart, the tables and what was assumed as one HTML page that needs nothing else."""
    path.write_text(page(found), "utf-8")


def _figure(found: Simulation) -> Figure:
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=_SIZE, layout="constrained")
    axes = figure.subplots()
    if found.recorded is not None and len(found.recorded.input_per_turn) == found.turns:
        _line(axes, found.recorded.input_per_turn, label="reported", color="#999999", linewidth=4, alpha=0.5)
    for n, one in enumerate(found.policies):
        style = _STYLES[n // len(_COLOURS) % len(_STYLES)]
        _line(
            axes,
            one.input_per_turn,
            label=_drawn(one.policy),
            color=_COLOURS[n % len(_COLOURS)],
            linestyle=style,
        )
    axes.set_xlabel("turn")
    axes.set_ylabel("input tokens, summaries included")
    axes.set_title(f"Input tokens per turn: {_drawn(found.conversation)[:60]}", loc="left", fontsize=11)
    axes.set_ylim(bottom=0)
    axes.set_xlim(left=1, right=max(2, found.turns))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.yaxis.set_major_formatter(lambda value, place: f"{value:,.0f}")
    axes.grid(visible=True, color="#dddddd", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="upper left", fontsize=8, framealpha=0.85)
    return figure


def _line(axes: Any, values: Sequence[int], **look: Any) -> None:
    marker = "o" if len(values) < 40 else ""
    axes.plot(range(1, len(values) + 1), values, marker=marker, markersize=3, **{"linewidth": 1.6, **look})


def _drawn(text: str) -> str:
    """Return a text that the chart's font has signs for, and in which no sign starts a formula."""
    return _DRAWN.sub("?", text).replace("$", r"\$")


def _svg(found: Simulation) -> str:
    buffer = io.StringIO()
    _figure(found).savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    svg = buffer.getvalue()
    return svg[svg.index("<svg") :]


_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 68rem; margin: 2rem auto; padding: 0 1rem; color: #1b1b1b;
  background: #fff }
h1 { font-size: 1.4rem; overflow-wrap: anywhere } h2 { font-size: 1.05rem; margin-top: 2rem }
svg { width: 100%; height: auto }
.wide { overflow-x: auto } table { border-collapse: collapse; font-variant-numeric: tabular-nums }
th, td { padding: .3rem .65rem; text-align: right; border-bottom: 1px solid #ddd; white-space: nowrap }
th { white-space: normal; vertical-align: bottom; max-width: 7rem }
th:first-child, td:first-child { text-align: left; font-family: ui-monospace, monospace }
p.small, li { color: #555 } b.inferred { color: #8a5a00 }
"""


def page(found: Simulation) -> str:
    """Return the page; everything that strangers wrote is escaped."""
    notes = [
        *(
            f'<b class="inferred">inferred {escape(name)}:</b> {escape(text)}'
            for name, text in found.inferred.items()
        ),
        *map(escape, found.remarks),
    ]
    about = [f"{found.turns:,} turns", f"{found.calls:,} calls", found.model or "unknown model"]
    if found.recorded is not None:
        about.append(f"reported: {found.recorded.input_tokens:,} input tokens")
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width">',
            f"<title>Policies over {escape(found.conversation)}</title>\n<style>{_STYLE}</style>",
            f'<h1>Policies over {escape(found.conversation)}</h1>\n<p class="small">{escape(" · ".join(about))}</p>',
            _svg(found),
            "<h2>What each takes</h2>",
            _costs(found.policies),
            "<h2>Messages at the last call</h2>",
            _reach([(one.policy, one.messages) for one in found.policies]),
            "<h2>Facts in them</h2>",
            _reach([(one.policy, one.facts) for one in found.policies]),
            f"<ul>{''.join(f'<li>{note}</li>' for note in notes)}</ul>\n</html>\n",
        ]
    )


def _costs(policies: Sequence[SimulatedPolicy]) -> str:
    headers = (
        "policy", "model calls", "of them summaries", "input tokens", "of them for summaries", "peak", "cached",
        "effective tokens", "cost",
    )  # fmt: skip
    rows = [
        (
            one.policy,
            f"{one.model_calls:,}",
            f"{one.summaries:,}",
            f"{one.total_input_tokens:,}",
            f"{one.summary_input_tokens:,}",
            f"{one.peak:,}",
            f"{one.cached_share:.1%}",
            f"{one.effective_tokens:,}",
            "?" if one.price is None else f"${one.price:.4f}",
        )
        for one in policies
    ]
    return _table(headers, rows)


def _reach(found: Sequence[tuple[str, Reach]]) -> str:
    headers = ("policy", "in view", "readable by tools", "summarised", "gone")
    return _table(
        headers,
        [
            (name, f"{one.visible:,}", f"{one.reachable:,}", f"{one.summarised:,}", f"{one.lost:,}")
            for name, one in found
        ],
    )


def _table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(text)}</th>" for text in headers)
    body = "\n".join("<tr>" + "".join(f"<td>{escape(text)}</td>" for text in row) + "</tr>" for row in rows)
    return f'<div class="wide"><table>\n<tr>{head}</tr>\n{body}\n</table></div>'
