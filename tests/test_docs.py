"""The documentation builds without a warning, and its reference holds all there is."""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from browsing import CHROMIUM, needs_browser
from foveal.cli import cli
from foveal.evaluation import PRESETS
from foveal.formats import list_formats
from foveal.measures import all_measures

ROOT = Path(__file__).resolve().parents[1]
CONTEXT = click.Context(cli)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(target)]
    quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1"}  # an announcement, not a defect
    done = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return target


def page(site: Path, name: str) -> str:
    return (site / f"{name}.html").read_text()


def section(text: str, name: str, level: int) -> str:
    """From the heading with this anchor to the next of its level or above."""
    start = text.index(f'<h{level} id="{name}">')
    following = re.compile(rf"<h[1-{level}] id=").search(text, start + 1)
    return text[start : following.start() if following else None]


@pytest.mark.parametrize("measure", all_measures(), ids=str)
def test_every_measure_has_its_section(site: Path, measure) -> None:
    text = html.unescape(re.sub(r"<[^>]+>", "", section(page(site, "measures"), measure.name, 3)))
    words = (measure.__doc__ or "").split()
    assert " ".join(words[:5]) in " ".join(text.split())
    assert measure.formula.partition("; ")[0] in text
    assert measure.source in text
    assert f"= {measure.example.value:.4f}" in text
    for parameter in measure.parameters:
        assert parameter.description in text


@pytest.mark.parametrize("preset", PRESETS.values(), ids=lambda preset: preset.name)
def test_every_preset_is_listed(site: Path, preset) -> None:
    rows = section(page(site, "measures"), "presets", 2).split("<tr>")
    (row,) = [row for row in rows if f"<code>{preset.name}</code>" in row]
    for text in (*preset.summary, *preset.rules):
        assert html.escape(text) in row


@pytest.mark.parametrize("name", cli.list_commands(CONTEXT))
def test_every_command_has_its_options(site: Path, name: str) -> None:
    text = section(page(site, "commands"), name, 2)
    for parameter in cli.resolve_command(CONTEXT, [name])[1].params:
        if isinstance(parameter, click.Option):
            assert f"<code>{parameter.opts[0]}" in text


@pytest.mark.parametrize("kind", ["run", "judgements"])
def test_every_format_has_its_section(site: Path, kind: str) -> None:
    for form in list_formats(kind):
        text = html.unescape(section(page(site, "formats"), f"{kind}-{form.name}", 3))
        assert " ".join(form.summary.split()[:3]) in " ".join(re.sub(r"<[^>]+>", "", text).split())


def test_pages_fetch_nothing_from_elsewhere(site: Path) -> None:
    fetched = re.compile(r"<(?:script|img|link|iframe)\b[^>]*?(?:src|href)=\"?(?:https?:)?//[^>]*")
    for path in site.rglob("*.html"):
        assert not fetched.findall(path.read_text()), path.name


def test_search_from_the_disk_has_its_parts(site: Path) -> None:
    index = (site / "search" / "search_index.js").read_text()
    assert index.startswith("var __index = {")
    for path in set(site.rglob("*.html")) - {site / "404.html"}:  # that one needs a server
        (script,) = re.findall(r'<script src="([^"]*iframe-worker[^"]*)"', path.read_text())
        assert (path.parent / script).is_file(), path.name


@needs_browser
def test_search_from_the_disk_finds_pages(site: Path) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        opened = browser.new_page()
        asked: list[str] = []
        opened.on("request", lambda request: asked.append(request.url))
        opened.goto((site / "howto" / "reproduce-inex.html").as_uri())
        opened.click("input[name=query]")
        opened.keyboard.type("quantisation")
        opened.wait_for_selector(".md-search-result__item a")
        links = [a.get_attribute("href") for a in opened.query_selector_all(".md-search-result a")]
        browser.close()
    assert f"{site.as_uri()}/elements.html" in {(link or "").partition("#")[0] for link in links}
    assert all(url.startswith("file:") for url in asked)


def test_pages_written_by_hand_stay_short() -> None:
    pages = [path.read_text() for path in (ROOT / "docs").rglob("*.md")]
    prose = [re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL) for text in pages]
    assert sum(len(text.split()) for text in prose) <= 35_000
