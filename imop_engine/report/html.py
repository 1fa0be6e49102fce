"""The written report: one file that needs no network, reads like a letter and prints like one.

Whatever comes from the analyst's files (names, notes, reasons) is escaped on its way into the page,
and the page forbids scripts and connections besides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from html import escape
from typing import Any, Final

import numpy as np
import pandas as pd

from imop_engine.errors import ImopError
from imop_engine.inference.preferences import preference_segments
from imop_engine.report.html_style import STYLE
from imop_engine.report.svg import svg
from imop_engine.study import Study
from imop_engine.study.files import versions

SENTENCES_SHOWN: Final = 40
OUTLIERS_SHOWN: Final = 10
# An attribute with more values than this is a name, not a group.
MOST_GROUPS: Final = 12
LEARNED_STATUSES: Final = ("identified", "anchored")
POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"

METHOD: Final = (
    "Every investor is taken to choose the portfolio that weighs expected return against risk in "
    "her own way, and all of them to believe in the same expected returns. Portfolio by portfolio "
    "the believed returns were moved as little as possible so that the efficient frontier they "
    "span comes closer to what was held, each move solved to its global optimum{then}. Holdings "
    "tell "
    "returns only up to a shift and a scale, so two known returns (the anchors) fix both, and "
    "what nobody holds is bounded, not estimated."
)


def html_report(study: Study, *, command: str = "") -> str:
    """The report of a study as one HTML page. `command` is what makes it again."""
    title = study.settings.title or "What these investors believe"
    parts = [
        _header(study, title),
        _cards(study),
        _method(study),
        _data(study),
        _estimate(study),
        _identified(study),
        _frontier(study),
        _people(study),
        _again(study, command),
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{STYLE}\n</style>\n</head>\n<body>\n"
        + "\n".join(part for part in parts if part)
        + "\n</body>\n</html>\n"
    )


# -- sections ------------------------------------------------------------------------------------
def _header(study: Study, title: str) -> str:
    figures = study.figures
    lead = (
        f"The expected returns of {figures['assets']} assets, read from the portfolios of "
        f"{figures['rounds']:,} investors."
    )
    notes = study.settings.notes.strip()
    remarks = f'<p class="remarks">{escape(notes)}</p>' if notes else ""
    return (
        f'<header><p class="kicker">IMOP Studio · report</p><h1>{escape(title)}</h1>'
        f'<p class="lead">{lead}</p>{remarks}</header>'
    )


def _cards(study: Study) -> str:
    figures, status = study.figures, study.figures["status"]
    known = sum(count for name, count in status.items() if name in LEARNED_STATUSES)
    cards = [
        (f"{figures['rounds']:,}", "portfolios learned from"),
        (f"{figures['explained']:.1%}", "of the variation in holdings explained by one frontier"),
        (f"{known} of {figures['assets']}", "returns that the holdings and the anchors fix"),
        (f"{figures['median_risk_aversion']:.2f}", "median risk aversion"),
    ]
    inner = "".join(f'<div class="card"><b>{a}</b><span>{b}</span></div>' for a, b in cards)
    return f'<section class="cards">{inner}</section>'


def _method(study: Study) -> str:
    by_history = study.settings.anchors is None
    known = _history_names(study) if by_history else []
    rows = range(len(study.problem.theta.values))
    anchors = _items(_anchor_sentence(study, row, known) for row in rows)
    source = "by the return history" if by_history else "by the analyst"
    told = f"<h3>Anchors, chosen {source}</h3>{anchors}" if anchors else ""
    then = ", and at the end fitted to all portfolios together" if study.settings.refine else ""
    return f"<section><h2>Method</h2><p>{METHOD.format(then=then)}</p>{told}</section>"


def _data(study: Study) -> str:
    blocks = []
    for one in study.data.reading:
        counts = (
            f"{one.rows_read:,} rows read, {one.rows_kept:,} kept, of these "
            f"{one.rows_changed:,} changed; {one.rows_refused:,} refused."
        )
        shown = _items(escape(sentence) for sentence in one.sentences[:SENTENCES_SHOWN])
        more = len(one.sentences) - SENTENCES_SHOWN
        rest = f'<p class="small">And {more:,} more, in inputs/reading.csv.</p>' if more > 0 else ""
        clean = "" if one.sentences else '<p class="small">Nothing was changed or left out.</p>'
        blocks.append(f"<h3>{escape(one.name)}</h3><p>{counts}</p>{shown}{rest}{clean}")
    refused = [
        f"{escape(str(label))} {escape(reason)}."
        for label, reason in zip(study.data.portfolios.index, study.data.reasons, strict=True)
        if reason
    ]
    if refused:
        few = _items(refused[:OUTLIERS_SHOWN])
        blocks.append(
            f"<h3>Portfolios set aside</h3><p>{len(refused):,} of "
            f"{len(study.data.portfolios):,} portfolios took no part"
            f"{', the first of them' if len(refused) > OUTLIERS_SHOWN else ''}:</p>{few}"
        )
    notes = _items(escape(note) for note in study.data.notes)
    body = "".join(blocks) + notes
    return (
        f"<section><h2>Data and gaps</h2>{body or '<p>Tables were given directly.</p>'}</section>"
    )


def _estimate(study: Study) -> str:
    from imop_engine.report.charts_learn import interval_chart
    from imop_engine.report.frames_learn import only_fixed

    table = only_fixed(study.frame_returns)
    drawn = svg(
        interval_chart(table), "returns", "Estimated return of each asset with its interval"
    )
    columns: list[tuple[str, str, Callable[[Any], str]]] = [
        ("asset", "asset", _text),
        ("estimate", "estimate", _percent),
        ("low", "at least", _percent),
        ("high", "at most", _percent),
        ("history", "history", _percent),
        ("true", "true", _percent),
        ("investors", "investors", _count),
        ("status", "status", _tag),
    ]
    level = f"{study.settings.level:.0%}"
    return (
        "<section><h2>Expected returns</h2>"
        f"<p>Yearly returns that explain the holdings best, with {level} intervals. An interval "
        "without an end is open on that side; a return that is only bounded has no estimate.</p>"
        f"<figure>{drawn}</figure>{_table(table, columns)}</section>"
    )


def _identified(study: Study) -> str:
    table = study.frame_returns
    notes = _items(escape(note) for note in study.notes if note not in study.data.notes)
    groups = "".join(
        f"<h3>{_tag(status)} {len(part)} of {len(table)} assets</h3>"
        f'<div class="say">{_items(escape(str(one)) for one in part["sentence"])}</div>'
        for status, part in table.groupby("status", sort=False)
    )
    return (
        f"<section><h2>What the holdings tell, and what they do not</h2>{notes}{groups}</section>"
    )


def _frontier(study: Study) -> str:
    from imop_engine.report.charts import frontier_chart
    from imop_engine.report.frames import cloud, curve
    from imop_engine.report.frames_learn import band
    from imop_engine.report.style import ESTIMATED, HISTORY, TRUE

    returns = study.data.expected_returns.to_numpy()
    curves = [
        curve(study.problem, study.theta, ESTIMATED),
        # what history's portfolios are worth to these investors is what compares with theirs
        _revalued(study, returns, HISTORY),
    ]
    if study.data.truth is not None:
        curves.append(curve(study.problem, study.data.truth.to_numpy(), TRUE))
    dots = cloud(study.problem, study.theta, study.decisions)
    chart = frontier_chart(pd.concat(curves, ignore_index=True), dots, band=band(study))
    drawn = svg(chart, "frontier", "Estimated efficient frontier with the investors' portfolios")
    return (
        f"<section><h2>Efficient frontier</h2><p>{escape(study.fit.sentence())} Dots are the "
        "investors' portfolios under the estimated returns; the dotted line shows the portfolios "
        "that the return history alone would recommend, valued by the same returns.</p>"
        f"<figure>{drawn}</figure></section>"
    )


def _people(study: Study) -> str:
    from imop_engine.report.charts_people import preference_chart
    from imop_engine.report.frames_people import fitted_curve, weight_histogram

    # Bars of one width: the cells that the test of the family joins would look like a crowd.
    grid, known = study.settings.weights, study.distribution
    weights = study.frame_investors["weight"].dropna()
    bins = weight_histogram(weights, grid if isinstance(grid, int) else None)
    fitted = None if known is None else fitted_curve(bins, known.best.cdf)
    chart = preference_chart(bins, fitted, brush=False)
    drawn = svg(chart, "weights", "Distribution of the investors' weights on return")
    return (
        "<section><h2>Investors</h2>"
        f"<p>{_distribution_sentence(study)}</p><figure>{drawn}</figure>"
        f"{_segments(study)}{_outliers(study)}</section>"
    )


def _again(study: Study, command: str) -> str:
    made = f"<p>This command makes the report again:</p><pre>{escape(command)}</pre>"
    settings = study.settings.to_dict()
    shown = ", ".join(
        f"{name} {value}"
        for name, value in settings.items()
        if name not in ("title", "notes", "anchors") and value is not None
    )
    figures = study.figures
    packages = ", ".join(f"{name} {version}" for name, version in versions().items())
    return (
        f"<section><h2>Reproduction</h2>{made if command else ''}"
        f"<p>Settings: {escape(shown)}.</p>"
        f"<p>{figures['updates']:,} updates, {figures['certified']:.1%} of them proven globally "
        f"optimal, in {figures['seconds']:.1f} seconds.</p></section>"
        f"<footer>{escape(packages)}</footer>"
    )


# -- pieces --------------------------------------------------------------------------------------
def _history_names(study: Study) -> list[tuple[str, Any]]:
    """What the default anchors are, in words; a resumed study may have others by now."""
    from imop_engine.inference.anchors import history_anchors

    try:
        found = history_anchors(
            study.problem, study.data.expected_returns.to_numpy(), study.decisions
        )
    except ImopError:
        return []
    return [(one.name, one.portfolio) for one in found]


def _anchor_sentence(study: Study, row: int, known: list[tuple[str, Any]]) -> str:
    shares = study.problem.theta.equalities[row]
    value = f"{study.problem.theta.values[row]:.2%} a year"
    held = np.flatnonzero(shares)
    names = study.problem.names
    if len(held) == 1 and shares[held[0]] == 1.0:
        return f"{escape(names[held[0]])} returns {value}."
    order = held[np.argsort(-np.abs(shares[held]), kind="stable")]
    few = ", ".join(f"{shares[i]:.1%} {escape(names[i])}" for i in order[:4])
    rest = f" and {len(order) - 4} more" if len(order) > 4 else ""
    named = [name for name, portfolio in known if np.allclose(portfolio, shares, atol=1e-12)]
    what = named[0][:1].upper() + named[0][1:] if named else "A portfolio"
    return f"{escape(what)} ({few}{rest}) returns {value}."


def _revalued(study: Study, beliefs: Any, series: str) -> pd.DataFrame:
    from imop_engine.frontier import efficient_frontier, risk_of
    from imop_engine.report.frames import CURVE_POINTS

    weights, portfolios = efficient_frontier(study.problem, beliefs).sample(CURVE_POINTS)
    return pd.DataFrame(
        {
            "series": series,
            "weight": weights,
            "risk": risk_of(study.problem, portfolios),
            "return": portfolios @ study.theta,
        }
    )


def _distribution_sentence(study: Study) -> str:
    figures, known = study.figures, study.distribution
    middle = (
        f"The median weight on return is {figures['median_weight']:.3f}, a risk aversion of "
        f"{figures['median_risk_aversion']:.2f}."
    )
    if known is None:
        return middle
    best = known.best
    values = ", ".join(
        f"{name.replace('_', ' ')} {value:.3g}" for name, value in best.parameters.items()
    )
    shape = f"Of the families tried, {escape(best.name)} describes the weights best"
    shape += f" ({escape(values)})" if values else ""
    if np.isfinite(best.p_value):
        verdict = "is not rejected" if best.p_value >= 0.05 else "is rejected"
        shape += f"; a chi-square test says it {verdict} (p = {best.p_value:.3f})"
    return f"{middle} {shape}."


def _segments(study: Study) -> str:
    if study.preferences is None:
        return ""
    known = study.data.attributes[study.data.good].iloc[: study.rounds]
    blocks = []
    for name in known.columns:
        column = known[name]
        if name == "date" or not 1 < column.nunique(dropna=False) <= MOST_GROUPS:
            continue
        table = preference_segments(study.preferences, column.tolist())
        table["interval"] = [
            f"{low:.3f} to {high:.3f}" if np.isfinite(low) else "–"
            for low, high in zip(table["mean_low"], table["mean_high"], strict=True)
        ]
        columns: list[tuple[str, str, Callable[[Any], str]]] = [
            ("segment", str(name), _text),
            ("investors", "investors", _count),
            ("mean_weight", "mean weight", _number),
            ("interval", "interval of the mean", _right),
            ("median_risk_aversion", "median risk aversion", _number),
            ("outliers", "outliers", _count),
        ]
        blocks.append(f"<h3>By {escape(str(name))}</h3>{_table(table, columns)}")
    return "".join(blocks)


def _outliers(study: Study) -> str:
    table = study.fit.investors
    far = table[table["outlier"]].sort_values("distance", ascending=False)
    if far.empty:
        return ""
    shown = far.head(OUTLIERS_SHOWN).reset_index(names="id")
    columns: list[tuple[str, str, Callable[[Any], str]]] = [
        ("id", "investor", _text),
        ("distance", "distance", _number),
        ("asset", "held most differently", _text),
        ("gap", "held minus explained", _percent),
    ]
    return (
        f"<h3>Far from the frontier</h3><p>{len(far):,} investors hold portfolios that these "
        f"returns do not explain (further than {study.fit.threshold:.3g})"
        f"{', the furthest first' if len(far) > 1 else ''}.</p>{_table(shown, columns)}"
    )


def _table(frame: pd.DataFrame, columns: list[tuple[str, str, Callable[[Any], str]]]) -> str:
    present = [one for one in columns if one[0] in frame.columns]
    numeric = (_percent, _number, _count, _right)
    head = "".join(
        f'<th class="n">{escape(title)}</th>' if show in numeric else f"<th>{escape(title)}</th>"
        for _, title, show in present
    )
    rows = []
    for _, row in frame.iterrows():
        cells = []
        for name, _, show in present:
            kind = ' class="n"' if show in numeric else ""
            cells.append(f"<td{kind}>{show(row[name])}</td>")
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return (
        f'<div class="wide"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _items(sentences: Iterable[str]) -> str:
    inner = "".join(f"<li>{sentence}</li>" for sentence in sentences)
    return f"<ul>{inner}</ul>" if inner else ""


def _text(value: Any) -> str:
    return escape(str(value))


def _right(value: Any) -> str:
    return escape(str(value))


def _percent(value: Any) -> str:
    return f"{100 * float(value):.2f} %" if np.isfinite(float(value)) else "–"


def _number(value: Any) -> str:
    return f"{float(value):.3f}" if np.isfinite(float(value)) else "–"


def _count(value: Any) -> str:
    return f"{int(value):,}"


def _tag(status: Any) -> str:
    kind = str(status) if status in LEARNED_STATUSES else "open"
    return f'<span class="tag {kind}">{escape(str(status))}</span>'
