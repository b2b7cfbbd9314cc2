"""The F1 of SQuAD: on spans as a measure, and on strings as the original program has it."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence

import numpy as np

from foveal.measures.alignment import TopicView
from foveal.measures.base import Cutoff, Example, Measure
from foveal.measures.others.marked import list_marked, meet_marked

__all__ = ["SquadF1", "answer_f1", "answer_tokens"]

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


class SquadF1(Measure):
    """F1 of the returned text with the answer that fits it best.

    Answers are the evidence sets of the topic; without any, all relevant spans are one answer.
    The units are those of the spans: characters, or tokens if run and judgements were brought to
    them (`foveal.adapters.token_offsets`). The original compares the words as strings, wherever
    they stand; here they must be the words that were marked.
    """

    name = "squad_f1"
    section = "30"
    cutoff = Cutoff.RANK_OPTIONAL
    formula = "squad_f1 = max over answers a of 2 |returned, a| / (|returned| + |a|)"
    source = "SQuAD (Rajpurkar et al., EMNLP 2016), evaluate-v1.1; on places instead of strings"
    example = Example("D1:20-40 D2:0-50", 0.875, "squad_f1@2")

    def score_topic(self, topic: TopicView) -> float:
        start, end, owner = topic.pieces
        n = len(owner) if self.rank is None else int(np.searchsorted(owner, self.rank))
        start, end, row = start[:n], end[:n], topic.row[owner[:n]]
        returned = int((end - start).sum())
        among = topic.alignment.gold.cached(list_marked)
        every = among.of_topic(topic)
        sets = [] if among.sets is None else among.sets.gather(every).to_list()
        names = dict.fromkeys(name for own in sets for name in own or [])
        # A span without sets is part of every answer.
        answers = [every[[not own or name in own for own in sets]] for name in names]
        best = 0.0
        for spans in answers or [every]:
            answer = among.unite(spans)
            common = int(meet_marked(answer, row, start, end).common.sum())
            best = max(best, 2 * common / (returned + int(answer.size.sum())))
        return best


def answer_tokens(text: str) -> list[str]:
    """Return the words of an answer: lower case, without punctuation and articles.

    >>> answer_tokens("The cat's  pyjamas, an essay.")
    ['cats', 'pyjamas', 'essay']
    """
    return _ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split()


def answer_f1(answer: str, expected: Sequence[str]) -> float:
    """Return the F1 of SQuAD on strings: words in common, wherever they were found.

    >>> answer_f1("in the year 1066", ["1066", "October 1066"])
    0.5
    """
    found = Counter(answer_tokens(answer))
    best = 0.0
    for wanted in map(Counter, map(answer_tokens, expected)):
        if not (found and wanted):
            best = max(best, float(found == wanted))
            continue
        common = (found & wanted).total()
        best = max(best, 2 * common / (found.total() + wanted.total()))
    return best


MEASURES = (SquadF1,)
