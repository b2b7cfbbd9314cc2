"""Passwords, sessions and rate limits."""

from __future__ import annotations

import sqlite3
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assess_site import make_campaign
from foveal.assess.accounts import (
    FEWEST,
    RateLimit,
    check_password,
    encode_password,
)
from foveal.assess.people import ABSOLUTE, IDLE
from foveal.assess.store import Campaign
from foveal.errors import UsageError


class Clock:
    """A clock that stands until it is put forward."""

    def __init__(self) -> None:
        self.time = 1000.0

    def __call__(self) -> float:
        return self.time


# -- passwords ------------------------------------------------------------------------------------

passwords = st.text(st.characters(exclude_categories=["Cs"]), min_size=FEWEST, max_size=40)


@settings(max_examples=40)
@given(passwords, passwords)
def test_a_password_opens_with_itself_alone(right: str, wrong: str) -> None:
    encoded = encode_password(right, cost=2)
    assert check_password(right, encoded)
    same = unicodedata.normalize("NFKC", right) == unicodedata.normalize("NFKC", wrong)
    assert check_password(wrong, encoded) == same


def test_a_letter_composed_otherwise_is_the_same_letter() -> None:
    assert check_password("fa\u0308hre am Fluss", encode_password("fähre am Fluss", cost=2))


def test_the_same_password_is_never_encoded_twice_alike() -> None:
    first, second = (encode_password("seven ferries", cost=2) for _ in range(2))
    assert first != second
    assert "seven" not in first


@pytest.mark.parametrize("password", ["", "short", "x" * 7, "x" * 1025])
def test_a_password_has_a_length(password: str) -> None:
    with pytest.raises(UsageError, match="expected at least 8"):
        encode_password(password)


@pytest.mark.parametrize(
    "encoded",
    [
        None,
        "",
        "seven ferries",
        "md5$1$1$1$AAAA$AAAA",
        "scrypt$99$8$1$AAAA$AAAA",
        "scrypt$4$8$1$AAAA",
        "scrypt$4$8$x$AAAA$AAAA",
        "scrypt$4$8$1$?$?",
    ],
)
def test_what_was_not_encoded_here_opens_nothing(encoded: str | None) -> None:
    assert not check_password("seven ferries", encoded)
    assert not check_password("", encoded)


def test_an_endless_password_is_wrong() -> None:
    assert not check_password("x" * 100_000, encode_password("x" * 1000, cost=2))


# -- sessions -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_campaign(tmp_path_factory.mktemp("campaign"))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def campaign(path: Path, clock: Clock) -> Iterator[Campaign]:
    with Campaign.open(path) as campaign:
        campaign.clock = clock
        yield campaign


def test_a_session_is_found_by_its_token(campaign: Campaign) -> None:
    token, begun = campaign.begin_session("ann")
    assert campaign.find_session(token) == begun
    assert begun.user == "ann"
    for wrong in ("", None, token[:-1], token + "x", "x" * 10_000, "\ud800"):
        assert campaign.find_session(wrong) is None


def test_every_session_has_a_token_of_its_own(campaign: Campaign) -> None:
    (first, one), (second, other) = campaign.begin_session("ann"), campaign.begin_session("ann")
    assert first != second
    assert one.csrf != other.csrf
    campaign.end_session(first)
    assert campaign.find_session(first) is None
    assert campaign.find_session(second) == other


def test_the_token_is_not_in_the_file(path: Path, campaign: Campaign) -> None:
    token, _ = campaign.begin_session("ann")
    with sqlite3.connect(path) as database:
        stored = [value for row in database.execute("SELECT * FROM sessions") for value in row]
    database.close()
    assert token not in stored


def test_a_session_outlives_the_server(path: Path, clock: Clock, campaign: Campaign) -> None:
    token, begun = campaign.begin_session("ann")
    with Campaign.open(path) as again:
        again.clock = clock
        assert again.find_session(token) == begun


def test_a_session_that_nobody_uses_ends(campaign: Campaign, clock: Clock) -> None:
    token, _ = campaign.begin_session("ann")
    clock.time += IDLE - 1
    assert campaign.find_session(token) is not None
    clock.time += IDLE - 1  # it was used in between
    assert campaign.find_session(token) is not None
    clock.time += IDLE
    assert campaign.find_session(token) is None
    clock.time -= IDLE  # and it does not come back
    assert campaign.find_session(token) is None


def test_a_session_ends_however_much_it_is_used(campaign: Campaign, clock: Clock) -> None:
    token, begun = campaign.begin_session("ann")
    assert begun.expires == clock.time + ABSOLUTE
    while clock.time + IDLE / 2 < begun.expires:
        clock.time += IDLE / 2
        assert campaign.find_session(token) is not None
    clock.time = begun.expires
    assert campaign.find_session(token) is None


def test_old_sessions_are_swept_out(path: Path, campaign: Campaign, clock: Clock) -> None:
    for _ in range(3):
        campaign.begin_session("ann")
    clock.time += ABSOLUTE
    campaign.begin_session("bob")
    with sqlite3.connect(path) as database:
        (users,) = zip(*database.execute("SELECT user FROM sessions"), strict=True)
    database.close()
    assert users == ("bob",)


# -- doors ----------------------------------------------------------------------------------------


def test_tries_are_counted_and_forgotten() -> None:
    clock = Clock()
    limit = RateLimit(3, 60, now=clock)
    for second in range(3):
        clock.time = 1000.0 + second
        assert limit.try_acquire("ann") == 0
    assert limit.try_acquire("ann") == 58
    assert limit.try_acquire("bob") == 0
    clock.time = 1060.0  # the first is forgotten, the others are not
    assert limit.try_acquire("ann") == 0
    assert limit.try_acquire("ann") == 1


def test_a_good_try_is_taken_back_and_those_before_it_are_not() -> None:
    clock = Clock()
    limit = RateLimit(2, 60, now=clock)
    for _ in range(10):
        assert limit.try_acquire("ann") == 0
        limit.release("ann")
    assert limit.try_acquire("ann") == 0
    assert limit.try_acquire("ann") == 0
    limit.release("ann")
    assert limit.try_acquire("ann") == 0
    assert limit.try_acquire("ann") == 60


@settings(max_examples=30)
@given(
    st.integers(1, 4),
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 30)), max_size=40),
)
def test_no_stretch_has_more_tries_than_are_allowed(
    tries: int, steps: list[tuple[str, int]]
) -> None:
    clock, allowed = Clock(), []
    limit = RateLimit(tries, 60, now=clock)
    for name, pause in steps:
        clock.time += pause
        if limit.try_acquire(name) == 0:
            allowed.append((name, clock.time))
    for name, time in allowed:
        within = [t for n, t in allowed if n == name and time - 60 < t <= time]
        assert len(within) <= tries


def test_invented_names_do_not_fill_the_memory() -> None:
    limit = RateLimit(1, 60, now=lambda: 0.0)
    for i in range(RateLimit._MOST_KEYS + 100):
        limit.try_acquire(str(i))
    assert len(limit._failed) == RateLimit._MOST_KEYS
    assert limit.try_acquire(str(RateLimit._MOST_KEYS + 99)) > 0
