"""Snakemake's own report of a study holds its page and figures, and opens in a browser without a network."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from ..browser.conftest import browser  # noqa: F401 (a fixture)
from .conftest import Workplace

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory, caminos: str, finished: Path) -> Path:
    """The unpacked report of a study that ran."""
    place = Workplace(tmp_path_factory.mktemp("report"), caminos)
    place.take(finished)
    place.run("--report", "report.zip")
    with zipfile.ZipFile(place.folder / "report.zip") as archive:
        archive.extractall(place.folder)
    return place.folder / "report"


def test_it_holds_the_page_and_each_figure(report: Path) -> None:
    assert {path.name for path in (report / "data/raw").glob("*/*")} == {"index.html", "time.svg"}
    (page,) = (report / "data/raw").glob("*/index.html")
    assert "tiny" in page.read_text()


def test_it_opens_and_leads_to_the_figure(report: Path, browser: Any) -> None:  # noqa: F811
    for log in ("performance", "browser"):
        browser.get_log(log)  # of earlier pages
    browser.get((report / "report.html").as_uri())
    for words in ("Results", "tiny"):
        browser.find_element("xpath", f"//a[normalize-space()='{words}']").click()
    browser.find_element("xpath", "//tr[contains(., 'figures/time.svg')]//a[@iconname='eye']").click()
    figure = browser.find_element("css selector", "img[src$='/time.svg']")
    width = "const [image, done] = arguments; image.decode().then(() => done(image.naturalWidth))"
    assert browser.execute_async_script(width, figure) > 100
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [one["params"]["request"]["url"] for one in messages if one["method"] == "Network.requestWillBeSent"]
    assert asked and all(url.startswith(("file:", "data:")) for url in asked)
    assert not [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
