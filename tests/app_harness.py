"""What the tests of the app share: a workspace of their own, pages by name, files of every form."""

from __future__ import annotations

import io
import re

import numpy as np
import pandas as pd
from streamlit.testing.v1 import AppTest

import imop_engine as imop
from imop_app.jobs import JOBS
from imop_app.settings import InvestorBatch, InvestorSettings, MarketSettings, Simulation
from imop_app.state import KEY, AppState
from imop_app.workspace import Workspace
from imop_engine.bundled import market
from imop_engine.simulate import simulate_investors

SMALL = InvestorSettings((InvestorBatch("simulate", Simulation(count=60)),))
PATIENCE = 600  # seconds; only what hangs takes so long, on however busy a machine


def workspace(name: str = "w-test", *, investors: InvestorSettings | None = SMALL) -> Workspace:
    """A saved workspace with the paper's market and a few simulated investors."""
    made = Workspace(name, market=MarketSettings(), investors=investors)
    made.save()
    return made


def _script(view: str, identifier: str) -> None:
    from importlib import import_module

    import streamlit as st

    from imop_app.components import frame, status
    from imop_app.state import ADDRESS, current

    if ADDRESS not in st.query_params:
        st.query_params[ADDRESS] = identifier
    state = current()
    frame.navigation(state)
    frame.workspace_box(state)
    status.strip(state)
    import_module(f"imop_app.views.{view}").page()


def page(view: str, identifier: str = "w-test", *, errors: int = 0) -> AppTest:
    """One page of the app in its frame, on a workspace; `errors` are expected on it."""
    arguments = {"view": view, "identifier": identifier}
    test = AppTest.from_function(_script, kwargs=arguments, default_timeout=PATIENCE)
    return quiet(test.run(), errors)


def quiet(test: AppTest, errors: int = 0) -> AppTest:
    """The page, on which nothing went wrong."""
    assert not test.exception, [one.value for one in test.exception]
    assert len(test.error) == errors, [one.value for one in test.error]
    return test


def state_of(test: AppTest) -> AppState:
    return test.session_state[KEY]


def learned(identifier: str = "w-test") -> AppTest:
    """The Learn page after a run has ended."""
    test = page("learn", identifier)
    test.button(key="learn_start").click().run()
    JOBS.get(identifier).wait(PATIENCE)
    return quiet(test.run())


def said(test: AppTest) -> str:
    parts = [*test.markdown, *test.caption, *test.title, *test.header, *test.info]
    drawn = [re.sub(r"<[^>]*>", "", one.proto.body) for one in test.get("html")]
    return " ".join([*drawn, *(str(part.value) for part in parts)])


def charts_on(test: AppTest) -> int:
    return len(test.get("vega_lite_chart"))


# -- files ---------------------------------------------------------------------------------------
def history_file(form: str = "csv") -> bytes:
    """The bundled monthly returns of twenty stocks, as an analyst would have them."""
    table = market("us20").history.iloc[-120:, :6]
    if form == "xlsx":
        buffer = io.BytesIO()
        table.reset_index().to_excel(buffer, index=False)
        return buffer.getvalue()
    if form == "prices":
        table = 100.0 * (1.0 + table).cumprod()
    return table.to_csv().encode()


def workbook(sheets: dict[str, pd.DataFrame]) -> bytes:
    """An Excel workbook with these sheets."""
    buffer = io.BytesIO()
    with pd.ExcelWriter(buffer) as writer:
        for name, table in sheets.items():
            table.to_excel(writer, sheet_name=name, index=False)
    return buffer.getvalue()


def history_names() -> list[str]:
    return list(market("us20").history.columns[:6])


def portfolios(count: int = 80, seed: int = 3) -> pd.DataFrame:
    """Portfolios on those six stocks, with an investor, a segment and an age."""
    table = market("us20").history.iloc[-120:, :6]
    problem = imop.portfolio_problem(12 * table.cov(), bounds=(-1.0, 2.0))
    rng = np.random.default_rng(seed)
    drawn = simulate_investors(problem, 12 * table.mean().to_numpy(), count, rng=rng)
    held = pd.DataFrame(drawn.portfolios, columns=list(table.columns))
    held.insert(0, "age", rng.integers(25, 80, count))
    held.insert(0, "segment", rng.choice(["retail", "private"], count))
    held.insert(0, "client", [f"C{i:05d}" for i in range(count)])
    return held


def portfolio_file(form: str, count: int = 80) -> tuple[str, bytes]:
    """Name and content of a file of portfolios: wide, long, xlsx or broken."""
    wide = portfolios(count)
    if form == "wide":
        return "clients.csv", wide.to_csv(index=False).encode()
    if form == "xlsx":
        buffer = io.BytesIO()
        wide.to_excel(buffer, index=False)
        return "clients.xlsx", buffer.getvalue()
    if form == "long":
        long = wide.melt(["client", "segment", "age"], var_name="asset", value_name="weight")
        long = long[long["weight"] > 0].sort_values("client", kind="stable")
        return "holdings.csv", long.to_csv(index=False).encode()
    if form == "broken":
        assets = history_names()
        wide = wide.astype(dict.fromkeys(assets, object))
        wide.loc[3, assets[0]] = "n/a"
        wide.loc[5, assets] = 0.0
        wide.loc[7, assets[1]] = -0.4
        return "broken.csv", wide.to_csv(index=False).encode()
    raise ValueError(form)
