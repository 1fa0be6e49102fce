"""What a list shows of a run, and that as a sealed text: the store keeps one beside each run."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Any, Final

from imop_app.home import sealed, unsealed
from imop_app.settings import Settings, from_plain, to_plain

VERSION: Final = 2  # of the record; 1 had no digest
CLEARLY: Final = 1.05  # a holding that is larger by a twentieth lies above a cap
FEW_ABOVE: Final = 0.05  # of the investors


@dataclass(frozen=True)
class RunRecord:
    """A kept run in the list: enough to show it without opening it."""

    id: str
    name: str
    created: float  # seconds since the epoch
    market: str
    investors: str
    rounds: int
    explained: float
    seconds: float
    settings: Settings | None
    verdict: str = ""  # "good", "caution" or "poor"; "" of runs that were kept before there was one
    checks: tuple[dict[str, str], ...] = ()  # name, severity, sentence, remedy, worst first
    outliers: int = 0
    cap: float = 0.0  # where holdings pile up, a fraction of wealth; 0: nowhere

    @classmethod
    def of(
        cls,
        study: Any,
        run: str,
        settings: Settings | None,
        *,
        name: str,
        market: str,
        investors: str,
    ) -> RunRecord:
        """The record of a study that has just been learned.

        Args:
            study: The finished study.
            run: The id it is kept under.
            settings: What was chosen for it.
            name: What it is called.
            market: The market's title.
            investors: How many there are, and from where.
        """
        figures = study.figures
        return cls(
            id=run,
            name=name,
            created=time.time(),
            market=market,
            investors=investors,
            rounds=int(figures["rounds"]),
            explained=float(figures["explained"]),
            seconds=float(figures["seconds"]),
            settings=settings,
            verdict=study.verdict,
            checks=tuple(check.to_dict() for check in study.checks),
            outliers=int(figures["outliers"]),
            cap=_cap(study),
        )

    @property
    def when(self) -> str:
        """The moment it was made, in local time."""
        return time.strftime("%d %b %Y, %H:%M:%S", time.localtime(self.created))

    @property
    def label(self) -> str:
        """How it is offered in a list."""
        return f"{self.name} · {self.when}"


def _cap(study: Any) -> float:
    """The cap that holdings seem to be under, where a check says that they pile up."""
    if study.estimate is None or all(check.name != "caps" for check in study.checks):
        return 0.0
    at = float(study.specification.piled_at)
    above = (study.decisions.to_numpy().max(axis=1) > CLEARLY * at).mean()
    return at if above < FEW_ABOVE else 0.0  # what many hold more than is nobody's cap


def written_record(record: RunRecord) -> str:
    """The record as a sealed text."""
    plain = {"version": VERSION, **asdict(record), "settings": to_plain(record.settings)}
    return sealed(plain)


def read_record(run: str, content: str) -> RunRecord | None:
    """The record of a run out of its text; None where it is none or was changed.

    Args:
        run: The id of the run.
        content: The sealed text.
    """
    try:
        plain = unsealed(content, "the record of a run", undigested=1)
        plain.pop("version", None)
        settings = plain.pop("settings")
        plain["checks"] = tuple(dict(one) for one in plain.get("checks", ()))
        read = None if settings is None else from_plain(Settings, settings)
        return RunRecord(**{**plain, "id": run}, settings=read)
    except (ValueError, TypeError, KeyError):
        return None
