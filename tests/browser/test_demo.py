"""The site of ``make demo`` in a real browser: docs and reports, no request to elsewhere, no complaint."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urlsplit

import pytest

ROOT = Path(__file__).resolve().parents[2]
PHONE, DESKTOP = 390, 1400


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, report: Path) -> Path:
    """The site, with a made-up report in the place of that of `quick`."""
    folder = tmp_path_factory.mktemp("demo")
    shutil.copytree(report.parent, folder / "reports/quick")
    options = ["--strict", "--config-file", str(ROOT / "mkdocs.yml"), "--site-dir", str(folder / "demo")]
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", *options],
        cwd=folder, env=dict(os.environ, FABRICSTUDY_REPORTS="quick"), capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder / "demo"


def links(page: Path) -> Iterator[str]:
    """Addresses in a page, as they stand there; those in scripts are no links."""
    text = re.sub(r"<script\b(?![^>]*\bsrc=).*?</script>", "", page.read_text(), flags=re.S)
    yield from re.findall(r"""\s(?:href|src)=["']?([^"'\s>]+)""", text)


def test_all_links_are_relative_and_lead_somewhere(site: Path) -> None:
    checked = 0
    for page in site.rglob("*.html"):
        for link in links(page):
            address = urlsplit(urldefrag(link).url)
            if address.scheme or not address.path:
                continue
            assert not address.path.startswith("/"), (page, link)
            goal = page.parent / unquote(address.path)
            # Without a server a folder is no page.
            assert goal.is_file(), (page, link)
            checked += 1
    front, back = list(links(site / "index.html")), list(links(site / "reports/quick/index.html"))
    assert "reports/quick/index.html" in front and "../../index.html" in back
    assert checked > 500 and (site / "reports/quick/index.html").is_file()


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and says nothing."""

    def log_message(self, format: str, *arguments: Any) -> None:
        """Leave it."""


@pytest.fixture(scope="module")
def server(site: Path) -> Iterator[str]:
    """Address of the site below a folder, as on a host that has others, too."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=site.parent)) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}/demo/"
        running.shutdown()


@pytest.mark.slow
@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_the_pages_ask_nothing_of_other_sites_and_nothing_goes_wrong(server: str, browser: Any, width: int) -> None:
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width == PHONE}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.get_log("browser"), browser.get_log("performance")
    for page in ("", "reports.html", "reports/quick/", "tutorial.html", "search.html?q=torus"):
        browser.get(server + page)
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
    assert server + "reports/quick/" in asked
    assert [url for url in asked if not url.startswith((server, "data:", "blob:", "about:"))] == []
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
