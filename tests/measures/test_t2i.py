"""T2I on long lists: several topics of unequal length at once, as the naive measures have it."""

from __future__ import annotations

import random

import pytest

import foveal
import naive

LENGTH = 400
RANKS = (1, 10, 250, 1200, 5000)


def campaign(seed: int) -> tuple[dict[str, dict[str, naive.Doc]], dict[str, list[naive.Result]]]:
    """Return documents with up to four passages, and long lists of entry points into them."""
    chance = random.Random(seed)
    judged: dict[str, dict[str, naive.Doc]] = {}
    ranked: dict[str, list[naive.Result]] = {}
    for topic, documents, results in (("1", 3, 40), ("2", 120, 1200), ("3", 30, 2), ("4", 1, 0)):
        own = {}
        for i in range(documents):
            at = sorted(chance.sample(range(0, LENGTH - 20, 10), chance.choice((0, 1, 2, 4))))
            spans = tuple((start, start + chance.randint(1, 9)) for start in at)
            own[f"d{i}"] = naive.Doc(LENGTH - i % 7, spans)
        own["d0"] = naive.Doc(LENGTH, ((10, 20),))
        own["empty"], own["other"] = naive.Doc(0), naive.Doc(LENGTH)  # nothing relevant
        judged[topic] = own
        ranked[topic] = [
            (f"d{chance.randrange(documents)}", start, start + 5)
            for start in (chance.randrange(LENGTH - 12) for _ in range(results))
        ]
        if results:
            at_ends = [("empty", 0, 0), ("other", LENGTH - 3, LENGTH), ("other", LENGTH, LENGTH)]
            ranked[topic] = [*at_ends, *ranked[topic]]
    return judged, ranked


@pytest.mark.parametrize("settings", [{}, {"mode": "read"}, {"reread": "skip"}], ids=str)
@pytest.mark.parametrize("patience", [1, 17])
def test_long_lists_score_as_the_naive_reader_does(settings: dict[str, str], patience: int) -> None:
    judged, ranked = campaign(patience)
    truth = foveal.Judgements.from_highlights(
        {
            topic: {name: {"spans": doc.spans, "length": doc.length} for name, doc in own.items()}
            for topic, own in judged.items()
        }
    )
    run = foveal.Run.from_results({t: own for t, own in ranked.items() if own}, name="run")
    inside = ",".join([f"T={patience}", *(f"{name}={value}" for name, value in settings.items())])
    by_rank = ("T2IP", "T2IR", "T2Ieffort", "T2IcharP", "T2IcharR")
    names = [f"{name}({inside})@{k}" for name in by_rank for k in RANKS]
    found = foveal.evaluate(run, truth, [f"T2I({inside})", *names])
    options = {"T": patience, **settings}
    for i, topic in enumerate(found.topics):
        own = (ranked[topic], judged[topic])
        expected = [naive.T2I(*own, **options)]  # type: ignore[arg-type]
        expected += [getattr(naive, name)(*own, k=k, **options) for name in by_rank for k in RANKS]
        assert found.values[0, i].tolist() == pytest.approx(expected, abs=1e-12), topic
