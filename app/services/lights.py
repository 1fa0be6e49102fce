"""The traffic lights: market, investors and result, each with its reason and one button for it.

Colours come from the reading report and from the checks of the shown run, never from a guess here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import pandas as pd

from imop_app.jobs import Job
from imop_app.run_record import RunRecord
from imop_app.services import anchors as known_returns
from imop_app.services import clients, file_choices, results, summary
from imop_app.services import market as markets
from imop_app.services import people as crowd
from imop_app.services.errors import AppError
from imop_app.services.light import Colour, Light, Press
from imop_app.services.preparing import Preparing
from imop_app.settings import InvestorSettings, Limit, MarketSettings, Selection, Settings
from imop_app.store import RunStore
from imop_app.workspace import Workspace
from imop_engine.sentences import lights as say
from imop_engine.study import StudyData
from imop_engine.study.data_checks import investor_checks, market_checks
from imop_engine.study.groups import group_columns
from imop_engine.study.outcome import OUTLIERS

# Which light a check of a run belongs to; the others speak of the result itself.
OF_MARKET: Final = ("history", "caps", "limits")
OF_INVESTORS: Final = (
    "outliers", "strays", "duplicates", "investors", "coverage", "largest", "rounding", "dropped",
    "tilt",
)  # fmt: skip
BY_GROUPS: Final = ("noise", "explained", "baseline", "beliefs", "specification", "settled")
FEW_NUMBERS: Final = 8  # values of a numeric attribute by which groups are offered
FIELDS: Final = ("rates", "cash")  # choices that are numbers, for which pages have fields
NAMED_ACCEPT: Final = {"snapshots": "Keep the latest date", "units": "Leave it so"}
WORST: Final = ("poor", "caution")


@dataclass(frozen=True)
class _Reason:
    severity: str
    short: str
    about: str
    press: Press | None = None


def finding_key(finding: Any) -> str:
    """What an accepted finding is remembered by: the same file says the same again."""
    return hashlib.sha256(finding.sentence().encode()).hexdigest()[:24]


def _check_key(check: dict[str, str]) -> str:
    """The same for a check: with other data its sentence is another."""
    return hashlib.sha256(check["sentence"].encode()).hexdigest()[:24]


def all_three(workspace: Workspace, store: RunStore, job: Job | None) -> tuple[Light, ...]:
    """Market, investors and result.

    Args:
        workspace: What was chosen.
        store: Where runs are kept.
        job: The run under way, stopped or ended; None where there is none.
    """
    record = results.record_of(store, workspace.run)
    changed = () if record is None else summary.changes(workspace, store)
    return (
        _market(workspace, record, changed),
        _investors(workspace, record, changed),
        _result(workspace, record, changed, job),
    )


def _light(part: str, said: str, reasons: Sequence[_Reason]) -> Light:
    """The light of these reasons: the worst decides, and each brings its button."""
    bad = [one for severity in WORST for one in reasons if one.severity == severity]
    if not bad:
        return Light(part, "good", said)
    worst = [one for one in bad if one.severity == bad[0].severity]
    first = next((one for one in worst if one.press is not None), worst[0])
    ordered = [first, *(one for one in bad if one is not first)]
    presses: dict[str, Press] = {}
    for one in ordered:
        if one.press is not None:
            presses.setdefault(one.press.label, one.press)
    colour: Colour = "poor" if bad[0].severity == "poor" else "caution"
    short = first.short + say.more_reasons(len(bad) - 1)
    about = "\n\n".join(dict.fromkeys(one.about for one in ordered if one.about))
    return Light(part, colour, said, short, about, tuple(presses.values()))


def _market(workspace: Workspace, record: RunRecord | None, changed: tuple[str, ...]) -> Light:
    chosen = workspace.market
    if chosen is None:
        return Light("market", "none")
    try:
        data = markets.load(chosen, workspace.box)
    except AppError as error:
        press = _from_cures(error.cures, "market")
        return Light("market", "poor", "", say.cannot_be_read(), str(error), _some(press))
    reasons = _found(data.reading, workspace, "market" if chosen.source == "upload" else None)
    for check in market_checks(data, chosen.gaps):
        found, key = check.to_dict(), _check_key(check.to_dict())
        if key not in workspace.accepted:
            press = _market_press(check.name, chosen) or Press("Leave it so", "accept", key)
            reasons.append(_of_check(found, press))
    if record is not None and "market" not in changed:
        for one in record.checks:
            if one["name"] == "caps":
                reasons.append(_of_check(one, _cap_press(record, chosen, data.names)))
            elif one["name"] == "limits":
                reasons.append(_of_check(one, Press("Look at the limits", "page", "market")))
    return _light("market", data.title, reasons)


def _some(press: Press | None) -> tuple[Press, ...]:
    return () if press is None else (press,)


def _market_press(name: str, chosen: MarketSettings) -> Press | None:
    if name == "covariance":
        return Press("Repair the covariance", "market", (("repair", True),))
    if name == "months":
        return Press("Use all months", "market", (("gaps", "likelihood"),))
    if name == "history" and chosen.source == "upload" and chosen.covariance == "sample":
        return Press("Use a shrunk covariance", "market", (("covariance", "ledoit-wolf"),))
    return None


def _cap_press(record: RunRecord, chosen: MarketSettings, names: tuple[str, ...]) -> Press | None:
    if not 0.0 < record.cap < 1.0 or record.cap * len(names) < 1.0:
        return None
    limits = tuple(Limit(name, record.cap) for name in names)
    return Press(f"Set a cap of {record.cap:.0%}", "market", (("limits", limits),), learns=True)


def _investors(workspace: Workspace, record: RunRecord | None, changed: tuple[str, ...]) -> Light:
    chosen, market = workspace.investors, workspace.market
    if chosen is None or market is None:
        return Light("investors", "none")
    try:
        people = crowd.load(market, chosen, workspace.box)
    except Preparing:
        return Light("investors", "unknown", "drawn when the numerical code is ready")
    except AppError as error:
        press = _from_cures(error.cures, "investors")
        return Light("investors", "poor", "", say.cannot_be_read(), str(error), _some(press))
    alone = chosen.first.source == "upload" and len(chosen.batches) == 1
    reasons = _found(people.reading, workspace, "investors" if alone else None)
    reasons += [_of_check(check.to_dict()) for check in investor_checks(people)]
    told = {reason.short for reason in reasons}
    if record is not None and not changed:
        for one in record.checks:
            if one["name"] in OF_INVESTORS and say.headline(one["name"]) not in told:
                reasons.append(_of_check(one, _run_press(one, record, workspace)))
    return _light("investors", crowd.title(people), reasons)


def _result(
    workspace: Workspace, record: RunRecord | None, changed: tuple[str, ...], job: Job | None
) -> Light:
    settings = workspace.settings
    failed = job is not None and job.status == "failed" and job.settings == settings
    if failed and job is not None:
        again = Press("Learn again", "again", learns=True)
        return Light("result", "poor", "", say.failed(), job.error or "", (again,))
    if record is None:
        return Light("result", "none")
    said = f"{results.explained_said(record.explained)} explained"
    said += f", {record.verdict}" if record.verdict else ""
    again = Press("Learn again", "again", learns=True)
    if changed:
        reason = _Reason("caution", say.changed_since(changed), "", again)
        worst = "poor" if record.verdict == "poor" else "caution"
        return _light("result", said, [replace(reason, severity=worst)])
    if not record.verdict:
        return Light("result", "unknown", said, say.unknown_verdict(), "", (again,))
    own = [one for one in record.checks if one["name"] not in (*OF_MARKET, *OF_INVESTORS)]
    bad = [one for one in own if one["severity"] in WORST]
    shown = bad or list(record.checks)
    light = _light(
        "result", said, [_of_check(one, _run_press(one, record, workspace)) for one in shown]
    )
    # the verdict is the run's own, whatever else is known of its data
    colour: Colour = "poor" if record.verdict == "poor" else light.colour
    return replace(light, colour="caution" if record.verdict == "caution" else colour)


def _of_check(check: dict[str, str], press: Press | None = None) -> _Reason:
    about = f"{check['sentence']} {check['remedy']}"
    return _Reason(check["severity"], say.headline(check["name"]), about, press)


def _run_press(check: dict[str, str], record: RunRecord, workspace: Workspace) -> Press | None:
    """The button for a check of the shown run."""
    settings, name = record.settings, check["name"]
    if settings is None:
        return None
    learn = settings.learn
    if name == "together":
        return Press("Fit all together", "learn", replace(learn, refine=True), learns=True)
    if name == "outliers" and not learn.trim:
        label = say.set_outliers_aside(record.outliers)
        return Press(label, "learn", replace(learn, trim=True), learns=True)
    if name == "strays" and record.outliers and record.id == workspace.run:
        label = say.set_outliers_aside(record.outliers)
        return Press(label, "without_outliers", learns=True)
    if name in ("outliers", "strays"):
        return Press("See who they are", "page", "preferences")
    if name in ("investors", "single"):
        return Press("Add investors", "page", "investors")
    if name == "refit":
        kept = replace(learn, risks="history")
        return Press("Take risks from the history", "learn", kept, learns=True)
    if name == "box":
        return Press("Remove the bounds", "market", (("bounds", None),), learns=True)
    if name == "anchors":
        known = Press("Give returns you know", "page", "learn")
        return _better_anchors(settings, workspace) or known
    if name in OF_INVESTORS:
        return Press("Look at the investors", "page", "investors")
    by_groups = _by_groups(settings, workspace) if name in BY_GROUPS else None
    return by_groups or Press("Compare other choices", "page", "frontier")


def _better_anchors(settings: Settings, workspace: Workspace) -> Press | None:
    try:
        found = known_returns.choice(settings.market, settings.investors, workspace.box)
    except AppError:
        return None
    mended = known_returns.better(found, settings.learn)
    return None if mended is None else Press("Choose better anchors", "learn", mended, learns=True)


def _by_groups(settings: Settings, workspace: Workspace) -> Press | None:
    if workspace.groups is not None:
        return None  # they are compared already
    try:
        data = markets.load(settings.market, workspace.box)
        people = crowd.load(settings.market, settings.investors, workspace.box)
    except AppError:
        return None
    columns = group_columns(StudyData.on(data, people))
    if not columns:
        return None
    own = [name for name in columns if name not in ("year", "quarter")]
    known = people.attributes
    worded = [name for name in own if not pd.to_numeric(known[name], "coerce").notna().all()]
    # a number with many values makes groups that nobody asked for
    few = [name for name in own if known[name].nunique() <= FEW_NUMBERS]
    times = [name for name in columns if name not in own]
    if not (worded or few or times):
        return None
    by = [*worded, *few, *times][0]
    return Press(f"Compare groups by {by}", "groups", by)


def _found(reports: Sequence[Any], workspace: Workspace, where: Any) -> list[_Reason]:
    """What reading asks the analyst, without what was left as it is."""
    found = []
    for report in reports:
        for finding in report.needs_you:
            key = finding_key(finding)
            if key in workspace.accepted:
                continue
            options = {cure.option for cure in finding.cures}
            label = next((text for name, text in NAMED_ACCEPT.items() if name in options), "")
            if label:
                press: Press | None = Press(label, "accept", key)
            else:
                press = None if where is None else _from_cures(finding.cures, where)
                press = press or Press("Leave it so", "accept", key)
            what = finding.what[:1].upper() + finding.what[1:] + finding.extent()
            found.append(_Reason("caution", what, finding.sentence(), press))
    return found


def _from_cures(cures: Sequence[Any], where: Any) -> Press | None:
    one = next((cure for cure in cures if cure.option not in FIELDS), None)
    return None if one is None else Press(one.label, where, ((one.option, one.value),))


def market_after(market: MarketSettings, press: Press) -> MarketSettings:
    """The market with what a button chooses.

    Args:
        market: As it is chosen now.
        press: A button that changes the market.
    """
    change: dict[str, Any] = dict(press.change)
    if "periods_per_year" in change:
        change["periods_per_year"] = int(change["periods_per_year"])
    return replace(market, **change)


def without_outliers(workspace: Workspace, store: RunStore) -> InvestorSettings | None:
    """The investors without those whom the shown run calls outliers; None where it has none.

    Args:
        workspace: What was chosen.
        store: Where runs are kept.
    """
    if workspace.investors is None or workspace.run is None:
        return None
    shown = results.open_run(store, workspace.run)
    if shown is None:
        return None
    table = shown.frame_investors
    ids = tuple(dict.fromkeys(table["id"][table["status"].isin(OUTLIERS)].astype(str)))
    picked = Selection("without", ids, "outliers")
    return clients.selected(workspace.investors, picked) if ids else None


def investors_after(investors: InvestorSettings, press: Press) -> InvestorSettings:
    """The investors with what a button chooses.

    Args:
        investors: As they are chosen now.
        press: A button that changes how their file is read.
    """
    batch = investors.first
    for option, value in press.change:
        batch = file_choices.cured(batch, option, value)
    return investors.with_first(batch)
