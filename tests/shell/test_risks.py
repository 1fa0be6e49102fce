"""`imop risks`: a table for people, a document for machines."""

import json

import numpy as np
import pandas as pd
import pytest

from imop_engine import bundled
from imop_engine.cli import main
from imop_engine.convex.risks import RiskFrontier


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    said = capsys.readouterr()
    return int(ended.value.code or 0), said.out, said.err


def test_measures_of_risk_are_compared(tmp_path, capsys):
    history = bundled.market("us20").history.iloc[-48:, :4]
    frontier = RiskFrontier.of(history.to_numpy(), "mad")
    levels = np.linspace(1.05, 1.5, 24) * frontier.least
    held = frontier.at(history.mean().to_numpy(), levels)[0].round(4)
    held[:, 0] += 1.0 - held.sum(axis=1)
    history.to_csv(tmp_path / "returns.csv")
    pd.DataFrame(held, columns=history.columns).to_csv(tmp_path / "held.csv", index_label="id")
    files = ["--returns", str(tmp_path / "returns.csv"), "--portfolios", str(tmp_path / "held.csv")]
    options = [*files, "--risk", "variance", "--risk", "mad", "--folds", "2"]
    code, out, err = run(capsys, "risks", *options, "--json")
    assert code == 0, err
    document = json.loads(out)
    assert {one["risk"] for one in document["risks"]} == {"variance", "mad"}
    assert document["investors"] == 24
    assert len(document["returns"]) == 4
    code, out, err = run(capsys, "risks", *options)
    assert code == 0, err
    assert document["sentences"][0][:20] in " ".join(out.split())
    code, _, err = run(capsys, "risks", "--market", "paper8", "--portfolios", files[3])
    assert code == 2
    assert "a history of returns" in " ".join(err.split())
