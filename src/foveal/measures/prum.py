"""PRUM: the probability that a result shows something new to a reader who seeks a given recall."""

from __future__ import annotations

import numpy as np

from foveal.measures.alignment import TopicView
from foveal.measures.base import Choice, Cutoff, Example
from foveal.measures.user_model import Floats, Hits, Ideality, UserModel, distributions
from foveal.recall import QUANTISATIONS

__all__ = ["PrecisionWithUserModel", "precision_of_readers"]


def precision_of_readers(hits: Hits, n: int, results: int, *, read_on: bool = True) -> Floats:
    """PRUM for readers who stop once they have seen 1, 2, ..., `n` targets.

    Unless `read_on`, it is multiplied by the probability that so many are ever seen.

    >>> precision_of_readers(Hits.from_matrix([[1, 0], [0, 0], [0, 1]]), 2, 3).tolist()
    [1.0, 0.6666666666666666]
    """
    fresh, read = np.zeros(n), np.zeros(n)
    searching = np.ones(n)  # P(F < r): who seeks r targets has not seen them yet
    since = 0
    for block in distributions(hits, np.ones(n, dtype=np.int64), still=True):
        before = np.vstack([searching, _fewer(block.seen, n)])
        read += np.diff(block.rank, prepend=since) @ before[:-1]
        fresh += (before[:-1] - _fewer(block.still, n)).sum(axis=0)
        searching, since = before[-1], int(block.rank[-1])
    read += (results - since) * searching
    found = np.ones(n) if read_on else 1 - searching
    return np.divide(fresh * found, read, out=np.zeros(n), where=read > 0)


def _fewer(distributions: Floats, n: int) -> Floats:
    """The probabilities of fewer than 1, 2, ..., n, in each row."""
    fewer = np.empty((len(distributions), n))
    known = np.cumsum(distributions, axis=1)[:, :n]
    fewer[:, : known.shape[1]] = known
    fewer[:, known.shape[1] :] = known[:, -1:]
    return fewer


class PrecisionWithUserModel(UserModel):
    """How often a result that the reader consults shows a target not seen before.

    The reader stops as soon as the wanted share of the targets has been seen, or at the end of the
    list. Without ``@`` it is the mean over 1, 2, ..., all targets.
    """

    name = "PRUM"
    section = "15.4"
    cutoff = Cutoff.RECALL_OPTIONAL
    formula = "PRUM(r) = sum over k of P(F_(k-1) < r, F_k > F_(k-1)) / sum over k of P(F_(k-1) < r)"
    source = "Piwowarski, Gallinari and Dupret 2007; Pehcevski and Piwowarski, section 3.5"
    example = Example("D1:20-40 D3:0-40 D2:25-50", 0.5269, "PRUM@1.0")

    quant = Choice(*QUANTISATIONS, description="targets=ideal: the quantisation function")
    unreached = Choice(
        "read_on",
        "zero",
        description="readers who never see enough: read to the end, or count as failures",
    )

    @property
    def ideality(self) -> Ideality:
        return Ideality(quant=self.quant)

    def score_topic(self, topic: TopicView) -> float:
        n = self.sought(topic).n
        by_number = self.by_number(topic)
        return float(by_number.mean() if self.at is None else by_number[self.units_at(n) - 1])

    def by_number(self, topic: TopicView) -> Floats:
        """PRUM for readers who seek 1, 2, ... targets."""
        key = ("PRUM", self.key)
        return topic.memo(
            key,
            lambda: precision_of_readers(
                self.hits(topic),
                self.sought(topic).n,
                topic.n,
                read_on=self.unreached == "read_on",
            ),
        )
