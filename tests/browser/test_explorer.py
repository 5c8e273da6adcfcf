"""The explorer of a report in a real browser: choices change the picture, offline, for every reader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("selenium.webdriver", reason="selenium is not installed")

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

from .conftest import HOSTILE

pytestmark = pytest.mark.slow

# Positions and colours of all marks, and all words, of the picture.
MARKS = """
const svg = document.querySelector("#explorer-picture svg");
return svg && [...svg.querySelectorAll("[class*=mark-] path, [class*=mark-] line, [class*=mark-] text")].map(
  (one) => [one.tagName, ...["transform", "d", "fill"].map((name) => one.getAttribute(name)), one.textContent].join());
"""
SYMBOLS = "return document.querySelectorAll('#explorer-picture .role-mark.mark-symbol path').length"
LABELS = "return [...document.querySelectorAll('#explorer-picture svg text')].map((one) => one.textContent)"


class Page:
    """The report as its reader has it."""

    def __init__(self, browser: Any, report: Path, width: int) -> None:
        self.browser = browser
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        browser.get_log("browser"), browser.get_log("performance")
        browser.get(report.as_uri())
        self.wait(lambda: self.script(MARKS))

    def script(self, text: str) -> Any:
        return self.browser.execute_script(text)

    def wait(self, done: Any) -> None:
        WebDriverWait(self.browser, 20, 0.05).until(lambda _: done())

    def select(self, name: str) -> Select:
        return Select(self.browser.find_element(By.CSS_SELECTOR, f'#explorer-form [name="{name}"]'))

    def chosen(self, name: str) -> str:
        return self.select(name).first_selected_option.text

    def choose(self, name: str, text: str) -> list[str]:
        """Choose, wait for another picture and give its marks."""
        before = self.script(MARKS)
        self.select(name).select_by_visible_text(text)
        self.wait(lambda: self.script(MARKS) not in (before, None))
        found: list[str] = self.script(MARKS)
        return found

    @property
    def words(self) -> str:
        text: str = self.browser.find_element(By.ID, "explorer-words").text
        return text


@pytest.fixture(params=[1280, 390], scope="module")
def page(request: pytest.FixtureRequest, browser: Any, report: Path) -> Page:
    """The page at the width of a desk and of a telephone."""
    return Page(browser, report, request.param)


@pytest.fixture
def fresh(browser: Any, report: Path) -> Page:
    """The page with nothing chosen yet."""
    return Page(browser, report, 1280)


def test_at_first_it_shows_what_the_first_figure_shows(fresh: Page) -> None:
    """Its unit, too: by themselves the numbers would be shown in ms."""
    assert [fresh.chosen(name) for name in ("table", "metric", "x", "colour", "facet")] == [
        *("jobs", "runtime_ns", "alpha", "routing", "none")
    ]  # fmt: skip
    assert fresh.chosen("only-experiment") == "first" and fresh.chosen("only-pattern") == "all-to-all"
    assert fresh.words == (
        "runtime (us) of table jobs against alpha, coloured by routing, only experiment first, pattern all-to-all. "
        "6 values from 18 rows, medians over seed; whiskers: min to max."
    )
    assert fresh.browser.find_element(By.ID, "explorer-about").text.startswith("runtime_ns: time from the start")
    assert fresh.script(SYMBOLS) == 6
    assert {"0.5", "1", "4"} <= set(fresh.script(LABELS))  # on x, as the study writes them


def test_every_choice_changes_the_picture(fresh: Page) -> None:
    seen = [fresh.script(MARKS)]
    for name, text in [
        ("facet", "pattern"), ("colour", "none"), ("x", "routing"), ("only-alpha", "4"), ("yscale", "logarithmic"),
        ("marks", "every row"), ("colour", "seed"), ("only-experiment", "second"), ("metric", "rate_Bps"),
        ("table", "links"), ("metric", "load_max_bytes"), ("x", "class"), ("table", "machines"),
    ]:  # fmt: skip
        marks = fresh.choose(name, text)
        assert marks not in seen, (name, text)
        seen.append(marks)
        assert "undefined" not in fresh.words and "NaN" not in fresh.words + "".join(marks)


def test_each_row_is_a_mark_if_asked_for(fresh: Page) -> None:
    fresh.choose("marks", "every row")
    assert fresh.script(SYMBOLS) == 18
    assert fresh.words.endswith("18 rows.")


def test_numbers_drawn_are_medians_of_the_table(fresh: Page) -> None:
    """Numbers 0 to 2 of the first labels have the median 1001 us."""
    cells = "[...row.children].map((cell) => cell.textContent)"
    rows = fresh.script(f"return [...document.querySelectorAll('#explorer-numbers tr')].map((row) => {cells})")
    assert rows[0] == ["routing", "alpha", "runtime (us)", "min", "max", "rows"]
    assert rows[1] == ["minimal", "0.5", "1001", "1000", "1002", "3"]
    assert len(rows) == 7


def test_facets_have_a_panel_each_with_hostile_labels_as_text(fresh: Page) -> None:
    fresh.choose("facet", "pattern")
    labels = fresh.script(LABELS)
    assert "all-to-all" in labels and any(label.startswith("<b onmouse") for label in labels)
    assert fresh.chosen("only-pattern") == "all"
    assert HOSTILE in [option.text for option in fresh.select("only-pattern").options]


def test_a_choice_without_rows_moves_the_other_filters(fresh: Page) -> None:
    fresh.choose("only-experiment", "second")
    assert fresh.chosen("x") == "arrangement"
    assert not fresh.select("only-alpha")._el.is_displayed()  # it does not vary in this experiment
    assert "from 12 rows" in fresh.words


def test_scales_follow_the_kind_of_axis(fresh: Page) -> None:
    automatic = fresh.script(MARKS)
    assert fresh.choose("xscale", "linear") != automatic  # ratios of 0.5 to 4
    assert fresh.choose("xscale", "logarithmic") == automatic
    fresh.choose("xscale", "categories")
    fresh.choose("x", "routing")
    assert not fresh.select("xscale")._el.is_enabled()


def test_it_can_be_used_from_the_keyboard(fresh: Page) -> None:
    before = fresh.script(MARKS)
    first = fresh.select("table")._el
    fresh.script("document.querySelector('#explorer-form select').focus()")
    for _ in range(4):
        fresh.browser.switch_to.active_element.send_keys(Keys.TAB)
    active = fresh.browser.switch_to.active_element
    assert active != first and active.get_attribute("name") == "facet"
    active.send_keys("p")  # pattern
    fresh.wait(lambda: fresh.script(MARKS) not in (before, None))
    assert fresh.chosen("facet") == "pattern"
    assert fresh.browser.switch_to.active_element.get_attribute("name") == "facet"


def test_every_control_has_a_label_and_every_picture_says_what_it_shows(page: Page) -> None:
    controls = page.browser.find_elements(By.CSS_SELECTOR, "#explorer-form select")
    names = [control.accessible_name for control in controls if control.is_displayed()]
    assert len(names) > 8 and all(names)
    assert {"table", "metric", "x", "colour", "facets", "marks", "x scale", "y scale"} <= set(names)
    shown = page.browser.find_element(By.CSS_SELECTOR, "#explorer-picture [role=graphics-document]")
    assert shown.get_attribute("aria-label") == page.words
    assert page.browser.find_element(By.ID, "explorer-words").get_attribute("role") == "status"
    assert all(len(image.get_attribute("alt")) > 50 for image in page.browser.find_elements(By.TAG_NAME, "img"))


def test_the_page_is_readable_without_scrolling_sideways(page: Page) -> None:
    page.choose("facet", "pattern")
    assert page.script("return document.documentElement.scrollWidth <= innerWidth")
    outside = """return [...document.querySelectorAll("#explore select, #explore svg text, #explore p")].filter(
      (one) => one.getBoundingClientRect().right > innerWidth + 1).map((one) => one.textContent)"""
    assert page.script(outside) == []
    sizes = """return [...document.querySelectorAll("#explorer-picture svg text")].map(
      (one) => getComputedStyle(one).fontSize)"""
    assert min(float(size.removesuffix("px")) for size in page.script(sizes)) >= 12
    page.choose("facet", "none")


def test_nothing_is_asked_of_the_network_and_nothing_goes_wrong(fresh: Page) -> None:
    fresh.choose("facet", "pattern")
    fresh.choose("table", "links")
    assert [entry["message"] for entry in fresh.browser.get_log("browser")] == []
    events = [json.loads(entry["message"])["message"] for entry in fresh.browser.get_log("performance")]
    asked = {e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"}
    assert asked and all(url.startswith(("file:", "data:")) for url in asked)


CUT = """return [...document.querySelectorAll(".wide:not(#explorer-picture)")].map((box) => [
  box.scrollWidth > box.clientWidth + 1, getComputedStyle(box, "::before").content.includes("scroll"), box.tabIndex])"""


def test_what_is_cut_says_that_it_scrolls_and_can_be_scrolled_by_keys(browser: Any, report: Path) -> None:
    page = Page(browser, report, 390)
    assert any(cut for cut, _, _ in page.script(CUT))
    # It is marked when the page has been loaded, which may be later than the explorer's first picture.
    page.wait(lambda: all((says, index) == (cut, 0 if cut else -1) for cut, says, index in page.script(CUT)))
    metrics = {"width": 1280, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    page.wait(lambda: not any(cut or says for cut, says, _ in page.script(CUT)))


def test_a_wider_window_gives_a_wider_picture(browser: Any, report: Path) -> None:
    page = Page(browser, report, 390)
    width = "return document.querySelector('#explorer-picture svg').getBoundingClientRect().width"
    narrow = page.script(width)
    metrics = {"width": 1280, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    page.wait(lambda: page.script(width) > 2 * narrow)
