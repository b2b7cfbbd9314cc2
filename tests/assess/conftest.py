"""The server that tests of safety attack, and those who work on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from assess_site import DOCUMENTS, Client, clients, make_campaign, served
from foveal.assess.store import Campaign

EVIL = (
    "<article><title>&lt;script&gt;alert(1)&lt;/script&gt;</title>"
    '<script onload="alert(2)">alert(3)</script><p style="x" onclick="alert(4)">'
    "&quot;&gt;&lt;img src=x onerror=alert(5)&gt; A ferry.</p></article>"
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ann has topic 1, bob has topic 2."""
    made = make_campaign(tmp_path_factory.mktemp("campaign"), documents={**DOCUMENTS, "evil": EVIL})
    (made.parent / "documents" / "secret.txt").write_text("the secret")
    with Campaign.open(made) as campaign:
        campaign.unassign("2", "ann")
        campaign.unassign("1", "bob")
    return made


@pytest.fixture(scope="module")
def url(path: Path) -> Iterator[str]:
    with served(path, hosts=("127.0.0.1", "assess.example.org")) as address:
        yield address


@pytest.fixture(scope="module")
def people(url: str) -> Iterator[list[Client]]:
    with clients(url, "ann", "bob", "olga") as made:
        yield made


@pytest.fixture
def ann(people: list[Client]) -> Iterator[Client]:
    yield people[0]
    assert people[0].get("/healthz").text == "ok"
    assert people[0].document("1", "ferries")["structure"]["length"] == 54


@pytest.fixture
def bob(people: list[Client]) -> Client:
    return people[1]
