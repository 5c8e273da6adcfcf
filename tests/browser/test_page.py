"""The page of a report for every reader: without a pointer, without eyes, on a telephone."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("selenium.webdriver", reason="selenium is not installed")

from selenium.webdriver.common.by import By

from .test_explorer import Page

pytestmark = pytest.mark.slow

RUN = "const done = arguments[0]; axe.run().then((found) => done(found.violations.map((one) => [one.impact, one.id])))"


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """axe-core's script, from the cache of npm or its registry."""
    if shutil.which("npm") is None:
        pytest.skip("npm, which brings axe-core, is not installed")
    folder = tmp_path_factory.mktemp("axe")
    command = ["npm", "install", "--prefer-offline", "--no-audit", "--no-fund", "--prefix", str(folder), "axe-core@4"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        pytest.skip(f"npm cannot bring axe-core: {done.stderr[-200:]}")
    return (folder / "node_modules/axe-core/axe.min.js").read_text(encoding="utf-8")


@pytest.mark.parametrize("width", [1280, 390])
def test_an_automatic_check_finds_nothing_serious(browser: Any, report: Path, axe: str, width: int) -> None:
    page = Page(browser, report, width)
    page.script("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    page.script(axe)
    found = browser.execute_async_script(RUN)
    assert [rule for impact, rule in found if impact in ("serious", "critical")] == []


def test_it_opens_with_what_was_found_in_sight(browser: Any, report: Path) -> None:
    page = Page(browser, report, 1280)
    (first, *_) = page.browser.find_elements(By.TAG_NAME, "section")
    assert first.get_attribute("id") == "findings"
    top = "return document.querySelector('#figure-time img').getBoundingClientRect().top"
    assert page.script(top) < 900  # the window's height
    assert page.script("return document.querySelector('.machine img').getBoundingClientRect().bottom") < 900


def test_contents_stay_in_view_and_figures_use_the_width(browser: Any, report: Path) -> None:
    page = Page(browser, report, 1280)
    page.script("document.getElementById('provenance').scrollIntoView()")
    page.wait(lambda: page.script("return document.querySelector('nav a[aria-current]')?.hash !== '#findings'"))
    assert page.script("return document.querySelector('nav').getBoundingClientRect().top") >= 0
    assert page.script("return document.querySelector('#figure-time img').clientWidth") > 0.75 * 1280


def test_a_claim_that_is_linked_to_is_open(browser: Any, report: Path) -> None:
    page = Page(browser, report, 1280)
    assert not page.script("return document.getElementById('claim-1.1').open")
    page.script("location.hash = '#claim-1.1'")
    page.wait(lambda: page.script("return document.getElementById('claim-1.1').open"))


def test_a_figure_on_a_telephone_can_be_read_and_scrolled_by_keyboard(browser: Any, report: Path) -> None:
    page = Page(browser, report, 390)
    figures = page.script(
        "return [...document.querySelectorAll('figure .wide')].map((one) => [one.scrollWidth, one.tabIndex, "
        "one.getAttribute('role'), document.getElementById(one.getAttribute('aria-labelledby'))?.textContent])"
    )
    assert figures and all(width >= 600 and rest == [0, "region"] and name for width, *rest, name in figures)
    assert page.script("return document.documentElement.scrollWidth") <= 390
