"""The page docs/trust.md: one table of all conditions, and what no figure in it can say."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from .trust_summary import BOUNDS_HELD, COVERAGE, VERDICTS, WARNED, compare_errors

REASONS_SHOWN: Final = 3
FAILURES_SHOWN: Final = 5
DASH: Final = "–"

HEAD: Final = (
    "condition", "assets", "identified / held", "covered", "before", "bounds held", "half-width",
    "before", "error", "worst", "before", "ratio", "implied", "ratio to implied", "history",
    "aligned", "good / caution / poor", "right reason", "reasons given", "stopped", "holds",
)  # fmt: skip
OF_EARLIER: Final = ("before", "ratio")  # columns that are there beside an earlier version only

OPENING: Final = """\
# What can be trusted

Written by `python -m imop_benchmarks.trust --page docs/trust.md`; do not edit it by hand. The
conditions are drawn by [conditions.py](../benchmarks/conditions.py), the figures are in
[benchmarks/results](../benchmarks/results).

Each row is a way in which real files differ from what the method assumes: one covariance that
everybody knows, two returns that are known exactly, and independent errors of 0.005 in holdings.
A study has 300 to 1,000 investors, and settings are the default ones. Markets alternate between a
bundled one (the paper's eight securities, twenty US stocks) and random ones of two or three factors
with volatilities of 5 to 35 %; thirty and fifty assets are always random. Weights are uniform,
normal or beta. No seed was chosen, and no row is left out.
"""

READING: Final = """\
## How to read the table

- **identified / held**: returns that the study calls identified, and assets that at least 15 % of
  the investors want at least 1 % of; means over the studies.
- **covered**: the share of the 95 % intervals of identified returns that hold the truth, pooled,
  with its standard error (studies are independent, the assets of one study are not).
- **bounds held**: the share of the returns with only a bound ("bounded above", "bounded below", or
  between two) that lie within it, and how many there were. Rows without that number are from before
  bounds counted all sources of error that intervals do. Bounds are not among the intervals that are
  **covered**, and do not decide whether a row **holds**. In bold where fewer than {bounds} held: do
  not act on a bound there.
- **half-width**: median, in % a year.
- **error**: root mean square over held assets whose return no anchor says, in % a year; median and
  **worst** study. **implied** is the same for the covariance times the average portfolio, brought
  onto the anchors by shift and scale, **ratio to implied** the median over the studies of the
  error over that of implied returns on the same study; **history** for the historical means, of
  120 months where the condition does not say how many. **aligned** is the median after the best
  shift and scale: what is left of the error when the level is forgiven.
- **good / caution / poor**: how many studies ended with which verdict.
- **right reason**: the share of all studies with "caution" or "poor" for a reason that is true of
  the condition. **reasons given**: the checks that warned most often.
- **stopped**: the share of the studies that ended with an error instead of a result.
- **holds**: {low} to {high} are covered ("covered"), or at least {warned} of the studies
  warn for a right reason ("warned"); **no** otherwise. Of clean studies at least 95 % must
  be called good besides.
"""

EARLIER: Final = """\
- **before**: version {version} under the same conditions: {studies} studies each, seeds from
  {first_seed}. **ratio** is the median over the studies of the error over that of version {version}
  on the very same study, where both saw it. An error in bold is above that of version {version} or
  of implied returns by more than 5 %, by these ratios; by the medians where version {version} saw
  other studies.
"""

LIMITS: Final = """\
## What the method cannot know

- **Level and scale.** Portfolios tell returns up to a shift and a positive factor. Both come from
  the anchors, and so does every risk aversion: all levels are "given the anchors". A wrong anchor
  that is said to be exact leaves no trace in the holdings. The order of returns, and ratios of
  their differences, do not depend on it.
- **What nobody holds.** Of an asset that nobody holds, portfolios say only that its return is not
  above some bound; of one that everybody holds at the cap, that it is not below.
- **What all do alike.** Where everybody moves a tenth of wealth into one asset, for a reason that
  has nothing to do with its return, holdings look much like those of people who believe in that
  asset. A check sees only what no frontier can explain: what differs between investors of the same
  weight, or changes along the frontier as beliefs would not.
- **What the file leaves out.** Cash in other accounts, positions that were not reported, caps and
  mandates that nobody wrote down. Some leave a pattern: many holdings at the same limit, or errors
  that grow as the part of the wealth that is shown gets smaller. Others leave none.
- **Its own bias.** Resampling investors, months and anchors shows how far an estimate scatters, not
  how far it is off on average. Where the error model is wrong (beliefs that differ, reported
  holdings cut to the largest, caps that are not told), only the right model, the limits themselves
  or the verdict help.
- **Which covariance investors have in mind.** The study knows the history's. If all investors share
  another one, the study takes the difference for beliefs about returns as far as that explains it.
- **Whether return and risk are all they care for.** Tax, liabilities, habits and advice move
  holdings too. The share explained says how much of the holdings one frontier describes, never why.
- **What was not simulated.** Each row departs in one way. A real file departs in several at once,
  with returns that are not normal and investors who are not drawn independently; a row that holds
  here is evidence for such a file, no proof.
"""


def trust_page(results: dict[str, Any], earlier: dict[str, Any] | None = None) -> str:
    """The whole page.

    Args:
        results: From `trust.measure`.
        earlier: The same from an earlier version, to stand beside it.
    """
    low, high, warned, bounds = (_share(one) for one in (*COVERAGE, WARNED, BOUNDS_HELD))
    reading = READING.format(low=low, high=high, warned=warned, bounds=bounds)
    if earlier is not None:
        reading += EARLIER.format(**earlier)
    return "\n".join(
        (OPENING, reading, _outcome(results, earlier), trust_table(results, earlier), LIMITS)
    )  # fmt: skip


def trust_table(results: dict[str, Any], earlier: dict[str, Any] | None = None) -> str:
    """A line for each condition; the columns of an earlier version only where there is one.

    Args:
        results: From `trust.measure`.
        earlier: The same from an earlier version.
    """
    before = {row["label"]: row for row in (earlier or {}).get("rows", ())}
    kept = [earlier is not None or head not in OF_EARLIER for head in HEAD]
    lines = [_cells(HEAD, kept), _cells(["---"] + ["--:"] * (len(HEAD) - 1), kept)]
    lines += [_cells(_line(row, before.get(row["label"])), kept) for row in results["rows"]]
    return "\n".join(lines) + "\n"


def _outcome(results: dict[str, Any], earlier: dict[str, Any] | None) -> str:
    rows = results["rows"]
    holding = sum(bool(row["holds"]) for row in rows)
    counts = {row.get("studies", results["studies"]) for row in rows} or {results["studies"]}
    studies = f"{min(counts)}" if len(counts) == 1 else f"{min(counts)} to {max(counts)}"
    text = (
        f"## Version {results['version']}\n\n{studies} studies of each condition, seeds "
        f"from {results['first_seed']}. {holding} of {len(rows)} rows hold.\n"
    )
    later: dict[int, list[str]] = {}
    for row in rows:
        if row.get("first_seed", results["first_seed"]) != results["first_seed"]:
            later.setdefault(row["first_seed"], []).append(f"{row['key']} with {row['assets']}")
    for first, names in sorted(later.items()):
        text += (
            f"\nMeasured again since then, with seeds from {first}: {', '.join(names)} assets.\n"
        )
    if earlier is not None:
        before = {row["label"]: row for row in earlier["rows"]}
        worse = sum(compare_errors(row, before.get(row["label"]))["worse"] for row in rows)
        text += (
            f"\nThe error is above the better of version {earlier['version']} and implied returns "
            f"by more than 5 % in {worse or 'none'} of the {len(rows)} rows.\n"
        )
    text += _bounds_outcome(rows)
    stops: Counter[str] = sum((Counter(row["failures"]) for row in rows), Counter())
    if stops:
        text += "\nWhat studies stopped with most often:\n\n"
        text += "".join(f"- {one} ({n})\n" for one, n in stops.most_common(FAILURES_SHOWN))
    return text


def _bounds_outcome(rows: list[dict[str, Any]]) -> str:
    """In which rows bounds hold less often than they should, those measured last first."""
    least = _share(BOUNDS_HELD)
    failing = [row for row in rows if not _bounds_hold(row)]
    if not failing:
        return f"\nBounds (at most, at least) held in {least} of the cases or more in every row.\n"
    failing.sort(key=lambda row: float(row["bounded_coverage"]))
    text = (
        f"\nBounds (at most, at least) held in fewer than {least} of the cases in "
        f"{len(failing)} of the {len(rows)} rows."
    )
    lately = [row for row in failing if row.get("bounded")]
    for found, when in (
        (lately, "As bounds are now"),
        ([row for row in failing if row not in lately], "Before they counted all sources of error"),
    ):
        names = ", ".join(
            f"{row['key']} with {row['assets']} ({100 * row['bounded_coverage']:.1f} %)"
            for row in found
        )
        text += f" {when}, the worst first: {names} assets." if found else ""
    return text + "\n"


def _bounds_hold(row: dict[str, Any]) -> bool:
    """Whether the bounds of a row hold often enough, or there are none."""
    share = row["bounded_coverage"]
    return share is None or share >= BOUNDS_HELD


def _line(row: dict[str, Any], earlier: dict[str, Any] | None) -> list[str]:
    then = earlier or {}
    errors = compare_errors(row, earlier)
    ours = _percent(errors["estimate"])
    reasons = [*row["reasons"].items()][:REASONS_SHOWN]
    return [
        row["sentence"],
        str(row["assets"]),
        f"{_number(row['identified'])} / {_number(row['held'])}",
        _covered(row),
        _share(then.get("coverage")),
        _bounds(row),
        _percent(row["half_width"]),
        _percent(then.get("half_width")),
        f"**{ours}**" if errors["worse"] else ours,
        _percent(row["errors"]["estimate"]["held_worst"]),
        _percent(errors["earlier"]),
        _ratio(errors["ratio"]),
        _percent(errors["implied"]),
        _ratio(errors["implied_ratio"]),
        _percent(row["errors"]["history"]["held"]),
        _percent(row["errors"]["estimate"]["held_aligned"]),
        _verdicts(row),
        _share(row["warned_rightly"]) if _judged(row) else DASH,
        ", ".join(f"{name} {_share(of)}" for name, of in reasons) or DASH,
        _share(row["raised"]),
        row["holds"] or "**no**",
    ]


def _cells(cells: Any, kept: list[bool]) -> str:
    return (
        "| " + " | ".join(cell for cell, keep in zip(cells, kept, strict=True) if keep) + " |"
    )  # fmt: skip


def _covered(row: dict[str, Any]) -> str:
    error = row["coverage_error"]
    return _share(row["coverage"]) + ("" if error is None else f" ± {100 * error:.0f}")


def _bounds(row: dict[str, Any]) -> str:
    share = _share(row["bounded_coverage"])
    of = f" of {row['bounded']}" if row.get("bounded") else ""
    return f"{share}{of}" if _bounds_hold(row) else f"**{share}**{of}"


def _judged(row: dict[str, Any]) -> bool:
    """Whether studies had a verdict at all; versions up to 0.1.0 had none."""
    return bool(row["verdicts"].keys() & set(VERDICTS))


def _verdicts(row: dict[str, Any]) -> str:
    if not _judged(row):
        return DASH
    return " / ".join(str(row["verdicts"].get(name, 0)) for name in VERDICTS)


def _share(value: float | None) -> str:
    return DASH if value is None else f"{100 * value:.0f} %"


def _ratio(value: float | None) -> str:
    return DASH if value is None else f"{value:.2g}"


def _number(value: float | None) -> str:
    return DASH if value is None else f"{value:.1f}"


def _percent(value: float | None) -> str:
    """A return in per cent, with two digits that matter."""
    return DASH if value is None else f"{float(f'{100 * value:.2g}'):g}"
