"""The one object kept between two runs of a page, under the one key we use.

It holds the open workspace. Which one is open stands in the address (`?workspace=...`), so that a
reload, a bookmark or a second tab finds it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import streamlit as st

from imop_app import access, naming, recovery
from imop_app.home import is_safe
from imop_app.jobs import JOBS, Job
from imop_app.run_record import RunRecord
from imop_app.settings import InvestorSettings, LearnSettings, MarketSettings, Settings
from imop_app.store import DatabaseStore, RunStore
from imop_app.workspace import UNNAMED, Before, Workspace, new_workspace, open_workspace
from imop_engine.errors import CannotWrite

KEY: Final = "imop"
ADDRESS: Final = "workspace"


@dataclass
class AppState:
    """The open workspace, and what only this browser tab knows."""

    workspace: Workspace = field(default_factory=new_workspace)
    pages: dict[str, Any] = field(default_factory=dict)  # what the rail offers
    page: str = ""  # the one that is open
    playing: bool = False  # whether the laboratory runs by itself
    examples: int = 0  # choices that a button made in this tab
    drafts: dict[str, Any] = field(default_factory=dict)  # tables that editors started from
    trouble: str = ""  # why the workspace could not be written; what was chosen stays in this tab

    @property
    def job(self) -> Job | None:
        """The workspace's run under way, stopped or just ended."""
        access.require(self.workspace.owner)
        return JOBS.get(self.workspace.id)

    @property
    def store(self) -> RunStore:
        """The workspace's kept runs."""
        return DatabaseStore(self.workspace.id, self.workspace.owner)

    @property
    def settings(self) -> Settings | None:
        """What a run would be started with."""
        return self.workspace.settings

    def save(self) -> None:
        """Write the workspace; what keeps it from being written is said on every page."""
        try:
            self.workspace.save()
            self.trouble = ""
        except CannotWrite as error:
            self.trouble = str(error)

    def choose_market(self, market: MarketSettings | None) -> None:
        """Take another market. Investors who were simulated on the old one are drawn again."""
        if market != self.workspace.market:
            before = self.workspace.market
            with self._named():
                self.workspace.market = market
            if before is None or market is None or before.data != market.data:
                self.workspace.learn = None
            self.save()

    def choose_investors(self, investors: InvestorSettings | None) -> None:
        """Take other investors."""
        if investors != self.workspace.investors:
            with self._named():
                self.workspace.investors = investors
            self.save()

    def choose_learning(self, learn: LearnSettings) -> None:
        """Take other settings of the learner."""
        if learn != self.workspace.learn:
            self.workspace.learn = learn
            self.save()

    def adopt(self) -> bool:
        """Show the run that has just ended; whether there was one.

        Pages do this and not the thread: two tabs may hold the same workspace, and only a page
        knows what its analyst has changed meanwhile.
        """
        job = self.job
        if job is None:
            return self._adopt_after_a_crash()
        if job.status != "finished" or job.adopted:
            return False
        job.adopted = True
        self.show_run(job.run)
        recovery.forget(self.workspace.id, job.run)
        return True

    def _adopt_after_a_crash(self) -> bool:
        """Show the run that was finished when the server died, and let go of one that is gone."""
        left = recovery.under_way(self.workspace.id)
        if left is not None and self.store.has(left.run):
            self.show_run(left.run)
            recovery.forget(self.workspace.id, left.run)
            return True
        if self.workspace.run is not None and not self.store.has(self.workspace.run):
            self.show_run(None)
        return False

    def open_run(self, record: RunRecord, inputs: bool) -> None:
        """Show an old run.

        Args:
            record: The run.
            inputs: Whether to bring back the data and settings it was learned from; what is chosen
                now is kept, to be brought back in its turn.
        """
        workspace, settings = self.workspace, self.workspace.settings
        if inputs and record.settings is not None:
            if settings is not None:
                workspace.before = Before(record.name, settings, workspace.run)
            self._choose(record.settings)
        workspace.run = record.id
        self.save()

    def undo_open(self) -> None:
        """Bring back what was chosen before an old run was opened."""
        before = self.workspace.before
        if before is not None:
            self._choose(before.settings)
            self.workspace.run = before.run
            self.workspace.before = None
            self.save()

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Name the workspace by what is in it, as long as nobody has given it another name."""
        of = self.workspace
        own = of.name not in (UNNAMED, naming.automatic(of.market, of.investors))
        yield
        if not own:
            of.name = naming.automatic(of.market, of.investors)

    def _choose(self, settings: Settings) -> None:
        self.workspace.market, self.workspace.investors = settings.market, settings.investors
        self.workspace.learn = settings.learn

    def show_run(self, run: str | None) -> None:
        """Make a kept run the one that the pages show."""
        if run != self.workspace.run:
            self.workspace.run = run
            self.save()

    def describe(self, *, title: str, notes: str) -> None:
        """Take the report's title and notes."""
        if (title, notes) != (self.workspace.title, self.workspace.notes):
            self.workspace.title, self.workspace.notes = title, notes
            self.save()

    def compare_groups(self, by: str | None) -> None:
        """Compare groups by that column, on the page and in what is taken away."""
        if by != self.workspace.groups:
            self.workspace.groups = by
            self.save()

    def accept(self, finding: str) -> None:
        """Leave what reading found as it is; it asks no more."""
        if finding not in self.workspace.accepted:
            self.workspace.accepted = (*self.workspace.accepted, finding)
            self.save()

    def rename(self, name: str) -> None:
        """Name the workspace."""
        of = self.workspace
        named = name.strip()[: naming.LENGTH] or naming.automatic(of.market, of.investors)
        if named != self.workspace.name:
            self.workspace.name = named
            self.save()

    def fresh(self, key: str) -> str:
        """The key of a choice that a button can make too.

        The browser keeps what a widget shows, empty or not. After the button it is another widget,
        which starts from the workspace.
        """
        return f"{key}_{self.examples}" if self.examples else key

    def forget_widgets(self) -> None:
        """Let every widget start again from the workspace, which has changed under it."""
        self.drafts.clear()
        for key in [name for name in st.session_state if name != KEY]:
            del st.session_state[key]


def current() -> AppState:
    """This session's state, opened from the address on first use."""
    asked, visitor = st.query_params.get(ADDRESS, ""), access.visitor()
    known = st.session_state.get(KEY)
    if known is not None and known.workspace.owner != visitor.address:
        del st.session_state[KEY]
    if KEY not in st.session_state:
        access.came_in(visitor)
        owner = visitor.address
        opened = open_workspace(asked, owner) if is_safe(asked) else new_workspace(owner)
        st.session_state[KEY] = AppState(opened)
    state: AppState = st.session_state[KEY]
    # Moving between pages clears the address; a reload must still find the workspace in it.
    if asked != state.workspace.id:
        st.query_params[ADDRESS] = state.workspace.id
    return state


def switch(identifier: str | None) -> None:
    """Open another workspace in this tab, or an empty one."""
    owner = access.visitor().address
    opened = new_workspace(owner) if identifier is None else open_workspace(identifier, owner)
    # Widgets keep their own values; those of the old workspace must not leak into the new one.
    for key in list(st.session_state):
        del st.session_state[key]
    st.session_state[KEY] = AppState(opened)
    st.query_params[ADDRESS] = opened.id


def place(options: Iterable[Any], value: Any) -> int:
    """Where a value stands among the options of a widget; first where it does not.

    Widgets start from what the workspace holds and are never set from here: a value that only the
    session knew would be lost with a message that a busy browser dropped, and the widget's own
    default would take its place.
    """
    listed = list(options)
    return listed.index(value) if value in listed else 0
