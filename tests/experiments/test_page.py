"""The page: self-contained, and nothing on it that is not in the files of its run."""

import json
import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from imop_experiments import markdown, page

ROOT = Path(__file__).resolve().parents[2]
NASTY = '<script>alert("x")</script>&"\''
VOID = {"meta", "br", "link", "img", "input", "hr"}


class Reader(HTMLParser):
    """Collects addresses, ids and text, and checks that elements are closed in order."""

    def __init__(self):
        super().__init__()
        self.open, self.addresses, self.ids = [], [], []

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.addresses += [
            attributes[name] for name in ("href", "src", "xlink:href") if name in attributes
        ]
        if "id" in attributes:
            self.ids.append(attributes["id"])
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def text(results, folder):
    assert Path(results["page"]) == folder / "index.html"
    return (folder / "index.html").read_text()


def test_it_needs_no_network_and_its_links_lead_to_files(text, folder):
    reader = Reader()
    reader.feed(text)
    assert reader.open == []
    assert len(set(reader.ids)) == len(reader.ids)
    for address in reader.addresses:
        if address.startswith("#"):
            assert address[1:] in reader.ids
        else:
            assert (folder / address).is_file(), address
    for outside in ("http://", "https://"):
        found = re.findall(outside + r"[^\s\"'<]+", text)
        assert all("www.w3.org" in one for one in found)  # namespaces of SVG, never fetched
    assert "<script" not in text
    assert "@import" not in text


def test_every_finding_is_on_it_with_its_verdict(text, results):
    plain = unescape(text)
    for one in results["experiments"]:
        assert one["title"] in plain
        for finding in one["findings"]:
            assert finding["ours"] in plain
            assert finding["verdict"] in page.WORDS
            assert finding["why"]
            assert finding["why"] in plain
        for choice in one["chosen"]:
            assert choice in plain


def test_it_is_made_of_the_files_alone(text, results, folder):
    content = json.loads((folder / "results.json").read_text())
    assert page.html(content, folder, Path()) == text
    content["experiments"][0]["findings"][0]["ours"] = "another number"
    assert "another number" in page.html(content, folder, Path())


def test_whatever_the_results_say_is_escaped(tmp_path):
    kept = json.loads((ROOT / "benchmarks" / "results" / "portfolio_table.json").read_text())
    (one,) = kept["experiments"]
    one |= {"title": NASTY, "setup": NASTY, "chosen": [NASTY], "raw": ["part"], "section": NASTY}
    for finding in one["findings"]:
        finding |= {"claim": NASTY, "ours": NASTY, "why": NASTY}
    for table in one["tables"]:
        table |= {"caption": NASTY, "columns": [NASTY], "rows": [[NASTY]]}
    (tmp_path / one["name"]).mkdir()
    for figure in one["figures"]:
        figure["caption"] = NASTY
        (tmp_path / one["name"] / f"{figure['name']}.svg").write_text("<svg></svg>")
    kept["versions"] = {NASTY: NASTY}
    text = page.html(kept, tmp_path, Path())
    assert "<script" not in text
    assert unescape(text).count(NASTY) > 10
    assert "<svg></svg>" in text  # drawings are ours and stay
    reader = Reader()
    reader.feed(text)
    assert reader.open == []


def test_what_the_paper_leaves_open_is_said(text):
    plain = unescape(text)
    for matter in ("K = 81, the caption", "θ₁ = 0 lies outside", "b₁ is identified from one side",
                   "Θ is not given", "It does for one variable"):  # fmt: skip
        assert matter in plain


def test_the_markdown_page_has_every_row(results):
    written = markdown.page(results)
    for one in results["experiments"]:
        for table in one["tables"]:
            for row in table["rows"]:
                cells = " | ".join(
                    page.shown(cell, table["digits"]).replace("|", "\\|") for cell in row
                )
                assert cells in written


@pytest.mark.parametrize("name", ["portfolio_table", "reproduction", "resource_allocation"])
def test_pages_in_the_documents_agree_with_the_results_kept_beside_them(name):
    kept = ROOT / "benchmarks" / "results" / f"{name}.json"
    assert (ROOT / "docs" / f"{name}.md").read_text() == markdown.page(json.loads(kept.read_text()))
