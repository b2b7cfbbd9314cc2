"""CAS topics taken strictly or vaguely: which elements of the judgements count.

The first letter of an interpretation is for the target: strict, only elements that the query asks
for count. The second is for the support: strict, only documents count in which the other conditions
of the query hold, as judged through its sub-topics.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal.collection import SourceTexts
from foveal.errors import UsageError
from foveal.model import Judgements, Topics
from foveal.nexi import CAS, matches, tags_of
from foveal.recall.queries import structured_queries
from foveal.recall.support import Classes, Conditions, Texts, without_ordinals
from foveal.spans import Ints

__all__ = ["INTERPRETATIONS", "SourceTexts", "Texts", "wanted"]

INTERPRETATIONS = ("VV", "SV", "VS", "SS")
"""Target first, then support; V is vague, S strict."""

Bools = npt.NDArray[np.bool_]


def wanted(
    interpretation: str,
    topics: Topics,
    judgements: Judgements,
    row: Ints,
    xpath: pl.Series,
    *,
    support: Judgements | None = None,
    classes: Iterable[frozenset[str]] = (),
    texts: Texts | None = None,
) -> Bools:
    """Return which elements stay under an interpretation of the topics' structured queries.

    Parameters
    ----------
    interpretation : {"VV", "SV", "VS", "SS"}
        Target first, then support. With a strict target, elements must match the target path; with
        strict support, their documents must satisfy all conditions besides ``about(., terms)`` of
        the last part, which is what the topic's own judgements say.
    topics : Topics
        The statements of the judged topics and, where there are any, of their sub-topics.
    judgements : Judgements
        Whose rows the elements point to.
    row : int64 array
    xpath : polars.Series of str
        The elements: judgement and canonical XPath of each.
    support : Judgements, optional
        Assessed elements of the sub-topics. A sub-topic names its topic, or the query of it, as
        `parent` and asks for one of its clauses; or else it is called ``T.n`` for the n-th
        about-clause of topic T that is a condition.
    classes : iterable of sets of tags, optional
        Tags of one class are taken for each other.
    texts : callable, optional
        Gives the text of elements, which comparisons with numbers need; see `SourceTexts`.

    Examples
    --------
    >>> from foveal.model import Topic
    >>> topics = Topics.of([Topic("1", castitle="//article//sec[about(., lace)]")])
    >>> judged = Judgements.from_highlights({"1": {"D1": {}}})
    >>> paths = pl.Series(["/article[1]/sec[2]", "/article[1]/sec[2]/p[1]"])
    >>> wanted("SV", topics, judged, np.array([0, 0]), paths).tolist()
    [True, False]
    """
    if interpretation not in INTERPRETATIONS:
        known = ", ".join(INTERPRETATIONS)
        raise UsageError(f"no CAS interpretation {interpretation!r}; expected one of {known}")
    keep = np.ones(len(row), dtype=bool)
    if interpretation == "VV":
        return keep
    groups = tuple(classes)
    names = [judgements.topics[code] for code in np.unique(judgements.topic[row]).tolist()]
    queries = structured_queries(topics, names)
    if interpretation[0] == "S":
        keep &= _on_target(queries, judgements, row, xpath, groups)
    if interpretation[1] == "S":
        conditions = Conditions(topics, queries, support, groups, texts)
        keep &= conditions.satisfied(judgements, row)[row]
    return keep


def _on_target(
    queries: Mapping[str, CAS], judgements: Judgements, row: Ints, xpath: pl.Series, groups: Classes
) -> Bools:
    """Return which elements the target paths of their topics mean; match each tag path once."""
    targets = list(dict.fromkeys(query.target for query in queries.values()))
    number = {target: i for i, target in enumerate(targets)}
    of_topic = np.array(
        [number[queries[name].target] if name in queries else -1 for name in judgements.topics],
        dtype=np.int64,
    )
    frame = pl.DataFrame({"target": of_topic[judgements.topic[row]], "xpath": xpath})
    frame = frame.select("target", tags=without_ordinals("xpath"))
    distinct = frame.unique()
    found = [matches(targets[i], tags_of(tags), groups) for i, tags in distinct.iter_rows()]
    distinct = distinct.with_columns(found=pl.Series(found, dtype=pl.Boolean))
    joined = frame.join(distinct, on=["target", "tags"], how="left", maintain_order="left")
    result: Bools = joined["found"].to_numpy()
    return result
