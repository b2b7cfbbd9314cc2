"""Quotes looked up in documents that changed, and judgements mended accordingly."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foveal.analysis.anchors import (
    AMBIGUOUS,
    CHANGED,
    CONTEXT,
    EXACT,
    LOST,
    MOVED,
    NO_QUOTE,
    Anchors,
    Quotations,
    Quote,
    verify,
)
from foveal.errors import InputError, UsageError
from foveal.formats import Source, read_judgements
from foveal.formats.jsonl import write_judgements
from foveal.model import Judgements

OLD = "The library closed at noon. Nobody came. The library opened again, and nobody came then."
NEW = f"Notice: 𝄞 {OLD}"
BY = len(NEW) - len(OLD)


def quoted(text: str, start: int, end: int, context: int = 0) -> Quote:
    prefix, suffix = text[max(start - context, 0) : start], text[end : end + context]
    return Quote(start, end, text[start:end], *((prefix, suffix) if context else (None, None)))


def at(text: str, words: str) -> tuple[int, int]:
    return text.index(words), text.index(words) + len(words)


# --------------------------------------------------------------------------------------------
# One quote
# --------------------------------------------------------------------------------------------


def test_of_several_places_the_context_chooses() -> None:
    second = OLD.index("The library", 5)
    bare = quoted(OLD, second, second + 11)
    assert Quotations(NEW).find(bare).kind == AMBIGUOUS
    own = Quotations(NEW).find(quoted(OLD, second, second + 11, 6))
    assert (own.kind, own.places) == (MOVED, ((second + BY, second + BY + 11),))


def test_one_side_of_the_context_is_enough_if_the_other_fits_nowhere() -> None:
    span = Quote(0, 11, "The library", "unheard of", " opened")
    own = Quotations(NEW).find(span)
    assert own.places == ((NEW.index("The library opened"), NEW.index(" opened")),)


def test_the_same_words_amid_other_text_are_not_taken_for_the_quote() -> None:
    start, end = at(OLD, "The library")
    span = quoted(OLD, start, end, 16)
    gone = OLD.removeprefix("The library closed at noon. ")
    own = Quotations(gone).find(span)
    assert (own.kind, own.places) == (AMBIGUOUS, (at(gone, "The library"),))
    edited = Quotations(f"Notice. {OLD[:27].replace('noon', 'four')}").find(span)
    assert (edited.kind, edited.places) == (MOVED, ((8, 19),))


def test_nearness_does_not_choose() -> None:
    """One place is two characters away, the other sixty; that says nothing."""
    own = Quotations(OLD).find(Quote(2, 13, "The library"))
    assert own.kind == AMBIGUOUS
    assert len(own.places) == 2


def test_a_quote_that_is_at_its_offset_by_chance_is_found_by_its_context() -> None:
    text = "no yes no maybe no"
    own = Quotations(text).find(Quote(0, 2, "no", "maybe ", ""))
    assert (own.kind, own.places, own.note) == (MOVED, ((16, 18),), "chosen by its context")


def test_a_quote_whose_context_is_nowhere_stays() -> None:
    own = Quotations(OLD).find(Quote(*at(OLD, "noon"), "noon", "at about ", "!"))
    assert (own.kind, own.note) == (EXACT, "the text around it has changed")


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("The library closed at noon.", "The library  closed\nat noon."),
        ("The library closed at noon.", "The library closed at one."),
        ("The library opened again, and nobody", "The library then opened again and nobody"),
    ],
)
def test_a_quote_that_is_nearly_there_has_changed(was: str, now: str) -> None:
    text = f"{'Something else was said first. ' * 3}{OLD.replace(was, now)}"
    own = Quotations(text).find(Quote(*at(OLD, was), was))
    assert own.kind == CHANGED
    assert own.similarity is not None
    assert 0.7 <= own.similarity < 1
    ((start, end),) = own.places
    assert abs(start - text.index(now)) <= 2
    assert abs(end - text.index(now) - len(now)) <= 3


def test_a_short_quote_that_is_written_otherwise_is_not_lost() -> None:
    own = Quotations("the caf\u00e9 is open").find(Quote(0, 5, "cafe\u0301"))
    assert (own.kind, own.places) == (CHANGED, ((4, 8),))
    assert own.note == "white space or characters are written otherwise"


def test_two_places_equally_like_a_quote_are_ambiguous() -> None:
    text = "The cat sat on the mat today. Later on, The cat sat on the mat today."
    own = Quotations(text).find(Quote(0, 26, "The cat sat on the map today"))
    assert own.kind == AMBIGUOUS
    assert [text[a:b] for a, b in own.places] == ["The cat sat on the mat today"] * 2


def test_long_quotes_are_compared_by_words() -> None:
    words = [f"word{i}" for i in range(400)]
    was, now = " ".join(words), " ".join([*words[:200], "inserted", *words[200:]])
    own = Quotations(f"before {now} after").find(Quote(0, len(was), was))
    assert own.kind == CHANGED
    assert own.places == ((7, 7 + len(now)),)


@pytest.mark.parametrize(("end", "places"), [(10, ((3, 10),)), (len(OLD), ((3, len(OLD)),))])
def test_without_a_quote_only_the_offsets_are_looked_at(end: int, places: Any) -> None:
    own = Quotations(OLD).find(Quote(3, end))
    assert (own.kind, own.places) == (NO_QUOTE, places)
    beyond = Quotations(OLD).find(Quote(3, len(OLD) + 1))
    assert (beyond.kind, beyond.places) == (NO_QUOTE, ())
    assert f"past the {len(OLD)} characters" in beyond.note


texts = st.text("ab é𝄞\n", min_size=1, max_size=25)


@given(texts, st.data())
@settings(max_examples=60)
def test_every_quote_of_a_document_is_exact_in_it(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    context = data.draw(st.integers(0, 5))
    assert Quotations(text).find(quoted(text, start, end, context)).kind == EXACT


@given(texts, texts, st.data())
@settings(max_examples=60)
def test_text_put_in_front_moves_a_quote_or_makes_it_ambiguous(
    text: str, front: str, data: st.DataObject
) -> None:
    """Never somewhere else: a place is reported alone only if it is right or nothing tells."""
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    own = Quotations(front + text).find(quoted(text, start, end, len(text)))
    right = (start + len(front), end + len(front))
    assert right in own.places or own.kind == EXACT
    if own.kind == MOVED:
        assert own.places == (right,)


# --------------------------------------------------------------------------------------------
# Judgements
# --------------------------------------------------------------------------------------------


def judged(*spans: dict[str, Any], doc: str = "d", **more: Any) -> Judgements:
    line = {"topic": "1", "doc": doc, "spans": [*spans], **more}
    return read_judgements(Source.of_text(json.dumps(line), "j.jsonl"))


def span(words: str, text: str = OLD, *, context: int = 0) -> dict[str, Any]:
    start, end = at(text, words)
    found: dict[str, Any] = {"start": start, "end": end, "quote": words}
    if context:
        found |= {"prefix": text[max(start - context, 0) : start]}
        found |= {"suffix": text[end : end + context]}
    return found


def mended(found: Anchors, text: str, **options: bool) -> tuple[Judgements, Anchors]:
    """The repaired judgements as they are written and read again, and what they verify to."""
    repair = found.repair(**options)
    again = read_judgements(Source.of_text(write_judgements(repair.judgements), "out.jsonl"))
    return again, verify(again, {"d": text})


def test_moved_spans_are_put_where_they_are() -> None:
    truth = judged(span("closed"), span("Nobody"), length=len(OLD), bep=at(OLD, "closed")[0])
    found = verify(truth, {"d": NEW})
    assert not found.is_sound
    assert found.counts == {kind: 2 * (kind == MOVED) for kind in found.counts}
    again, check = mended(found, NEW)
    assert check.is_sound
    assert again.start.tolist() == [at(NEW, "closed")[0], at(NEW, "Nobody")[0]]
    assert again.bep.tolist() == [at(NEW, "closed")[0]]
    assert again.length.tolist() == [len(NEW)]
    assert found.repair().left == ()


def test_what_is_exact_is_written_as_it_was() -> None:
    truth = judged(span("closed", context=5), length=len(OLD), bep=2)
    found = verify(truth, {"d": OLD})
    assert found.is_sound
    repair = found.repair()
    assert (repair.spans, repair.entry_points, repair.left) == (0, 0, ())
    assert write_judgements(repair.judgements) == write_judgements(truth)


def test_what_is_not_certain_stays_and_is_listed() -> None:
    spans = [span("closed"), {"start": 3, "end": 14, "quote": "The library"}]
    spans += [{"start": 0, "end": 5, "quote": "Gone."}]
    found = verify(judged(*spans, length=len(OLD)), {"d": NEW})
    repair = found.repair()
    assert repair.judgements.start.tolist() == [at(NEW, "closed")[0], 3, 0]
    places = f"[{BY},{BY + 11}), [{BY + 41},{BY + 52})"
    assert list(map(str, repair.left)) == [
        f"j.jsonl:1: span [3,14) of document 'd' not moved: ambiguous, perhaps at {places}",
        "j.jsonl:1: span [0,5) of document 'd' not moved: lost",
    ]


MIDDLE = OLD.replace("Nobody came.", "Nobody at all came.")


@pytest.mark.parametrize(
    ("words", "spans", "shift"),
    [
        ("library closed", ["The library closed", "opened"], 0),
        ("closed", ["noon", "opened"], None),
        ("again", ["noon", "opened again"], 7),
        ("then", ["noon", "opened"], None),
        ("Nobody", ["noon", "opened"], None),
        ("and", ["opened", "nobody came"], 7),
    ],
)
def test_an_entry_point_moves_with_the_spans_around_it(
    words: str, spans: list[str], shift: int | None
) -> None:
    """Seven characters were put in between; outside of spans, only equal shifts tell."""
    bep = at(OLD, words)[0]
    found = verify(judged(*map(span, spans), bep=bep), {"d": MIDDLE})
    repair = found.repair()
    assert repair.judgements.bep.tolist() == [bep + (shift or 0)]
    assert repair.entry_points == bool(shift)
    assert bool(repair.left) == (shift is None)


def test_a_length_that_what_is_left_would_not_fit_is_left_out() -> None:
    short = OLD[:30]
    found = verify(judged(span("closed"), span("nobody came"), length=len(OLD)), {"d": short})
    again, _ = mended(found, short)
    assert again.length.tolist() == [-1]


def test_quotes_and_context_are_added_where_there_are_none() -> None:
    start, end = at(OLD, "Nobody")
    truth = judged({"start": start, "end": end}, span("closed"))
    found = verify(truth, {"d": OLD})
    assert found.unchecked == 1
    again, check = mended(found, OLD, quote=True)
    assert check.counts[EXACT] == 2
    assert again.quotes is not None
    assert again.quotes.rows() == [
        ("Nobody", OLD[max(0, start - CONTEXT) : start], OLD[end : end + CONTEXT]),
        ("closed", None, None),
    ]


def test_a_document_that_drifted_gives_no_quotes() -> None:
    start, end = at(OLD, "Nobody")
    bare = {"start": start, "end": end}
    repair = verify(judged(bare, span("closed")), {"d": NEW}).repair(quote=True)
    assert (repair.spans, repair.quotes) == (1, 0)
    (left,) = repair.left
    what = f"j.jsonl:1: span [{start},{end}) of document 'd' not moved"
    assert str(left) == f"{what}: no quote, and the document has changed"
    indexed = verify(judged(bare), [("d", NEW, False)]).repair(quote=True)
    assert (indexed.quotes, len(indexed.left)) == (0, 1)


def test_a_document_that_is_not_there_has_lost_its_spans() -> None:
    both = Judgements.merged([judged(span("closed")), judged(span("closed"), doc="gone")])
    found = verify(both, {"d": OLD, "other": "not asked for"})
    assert [own.kind for own in found.found] == [EXACT, LOST]
    assert found.found[1].note == "its document is not there"
    with pytest.raises(InputError, match="none of the 2 judged documents"):
        verify(both, {"other": OLD})


def test_judgements_without_text_are_refused() -> None:
    truth = read_judgements(Source.of_text("1 0 d 1\n", "j.qrels"))
    with pytest.raises(InputError, match="no span has offsets"):
        verify(truth, {"d": OLD})


@pytest.mark.parametrize("similarity", [0, 1.5])
def test_a_similarity_is_a_share(similarity: float) -> None:
    with pytest.raises(UsageError, match="expected above 0 up to 1"):
        verify(judged(span("closed")), {"d": OLD}, similarity=similarity)


@given(texts, texts, texts, st.data())
@settings(max_examples=50)
def test_mending_leaves_nothing_moved(
    front: str, text: str, back: str, data: st.DataObject
) -> None:
    """Mended judgements are read again, and a second look moves nothing more."""
    spans = []
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text) - 1))
        end = data.draw(st.integers(start + 1, len(text)))
        spans.append({"start": start, "end": end, "quote": text[start:end]})
    bep = data.draw(st.none() | st.integers(0, len(text)))
    new = front + text + back
    _, check = mended(verify(judged(*spans, bep=bep, length=len(text)), {"d": new}), new)
    assert check.counts[MOVED] == 0
