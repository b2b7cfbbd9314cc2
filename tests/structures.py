"""Drawn campaigns of structure, fed to the package through its own readers and index."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import trees
from foveal.collection import Collection, build_index
from foveal.collection.placement import place_elements, place_judgements
from foveal.formats import read_judgements, read_run
from foveal.measures.alignment import Alignment, Gold, Overlap, TopicView
from foveal.recall import Forest


@contextmanager
def view(
    campaign: trees.Campaign, *, with_collection: bool = True, count_repeats: bool = False
) -> Iterator[TopicView]:
    """Yield the topic of a campaign, judged with the trees of an index or by assessments alone."""
    with tempfile.TemporaryDirectory() as folder:
        alignment = _align(campaign, Path(folder), with_collection=with_collection)
        overlap = Overlap.COUNT_REPEATS if count_repeats else Overlap.UNCHANGED
        yield alignment.with_overlap(overlap).topic("t")


def _align(campaign: trees.Campaign, folder: Path, *, with_collection: bool) -> Alignment:
    listed = not with_collection
    judged_in, run_in = folder / "judgements.jsonl", folder / "run.jsonl"
    judged_in.write_text(
        trees.json_lines(trees.judgement_objects(campaign.documents, list_elements=listed))
    )
    # A file without results is refused; one of a topic that nobody judged is left out.
    other: dict[str, object] = {"topic": "zz", "doc": "D1", "rank": 1}
    if any(result.rsv is not None for result in campaign.results):
        other["score"] = 0
    lines = [*trees.run_objects(campaign.results), other]
    run_in.write_text(trees.json_lines(lines))
    truth, run = read_judgements(judged_in), read_run(run_in)
    if not with_collection:
        combined = truth.combined()
        return Alignment(run, Gold(combined, forest=Forest.from_assessments(combined)))
    source = folder / "documents"
    source.mkdir()
    for name, text in trees.xml_files(campaign.documents).items():
        (source / name).write_text(text)
    build_index(source, folder / "index")
    collection = Collection.open(folder / "index")
    combined = place_judgements(truth, collection).combined()
    gold = Gold(
        combined,
        mean_length=collection.mean_length,
        forest=Forest.from_collection(combined, collection),
        collection_elements=collection.count_nonempty(),
    )
    return Alignment(place_elements(run, collection), gold)
