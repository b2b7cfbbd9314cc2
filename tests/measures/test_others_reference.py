"""The scores that other tools print for real data, from their own files, to the last digit."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pytest

import foveal
from foveal.adapters.gold_formats import RUN_FORMATS, read_gold, read_texts
from foveal.files.source import Source
from foveal.formats import read_run
from foveal.model import Judgements, Run
from shared_data import DATA

CHUNKING = DATA / "chunking_evaluation"
LEGAL = DATA / "legalbenchrag"
GENOMICS = DATA / "trec_genomics_2007"
CHUNKERS = ("fixed-400-0", "fixed-400-200", "rcts-400-0", "rcts-800-400")
Floats = npt.NDArray[np.float64]

needs_chunking = pytest.mark.skipif(
    not CHUNKING.exists(), reason="the data of chunking_evaluation are not beside the project"
)
needs_legal = pytest.mark.skipif(
    not LEGAL.exists(), reason="the data of LegalBench-RAG are not beside the project"
)
needs_genomics = pytest.mark.skipif(
    not GENOMICS.exists(), reason="the data of TREC Genomics are not beside the project"
)


def scores(run: Run, judgements: Judgements, names: Iterable[str], **options: str) -> Floats:
    """A row for each judged topic, a column for each measure."""
    return np.asarray(foveal.evaluate(run, judgements, [*names], **options).values[0])


# -- chunking_evaluation ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def corpora() -> Mapping[str, str]:
    return read_texts(CHUNKING / "corpora")


@pytest.fixture(scope="module")
def questions(corpora: Mapping[str, str]) -> Judgements:
    judgements, topics = read_gold(CHUNKING / "questions_df.csv", texts=corpora)
    assert len(topics) == 472
    assert len(judgements.start) == 790
    return judgements


@needs_chunking
@pytest.mark.parametrize("chunker", CHUNKERS)
def test_chunking_evaluation_question_by_question(chunker: str, questions: Judgements) -> None:
    run = read_run(CHUNKING / "reference" / f"run_bm25_{chunker}.jsonl")
    text = (CHUNKING / "reference" / f"upstream_per_question_{chunker}.json").read_text()
    expected = json.loads(text)
    found = scores(run, questions, ("ce_recall@5", "ce_precision@5", "ce_iou@5"))
    for column, name in enumerate(("recall", "precision", "iou")):
        assert found[:, column].tolist() == expected[name]


FIXED = ("fixed-800-0", "fixed-800-400", "fixed-1600-0", "fixed-1600-800")


@needs_chunking
@pytest.mark.parametrize("chunker", FIXED)
def test_precision_omega_of_whole_divisions(
    chunker: str, questions: Judgements, corpora: Mapping[str, str]
) -> None:
    text = (CHUNKING / "reference" / "scores_16_chunkers_bm25.json").read_text()
    expected = json.loads(text)[chunker]["upstream_code"]
    size, overlap = map(int, chunker.split("-")[1:])
    division = {
        doc: [(doc, *span) for span in divided(len(corpora[doc]), size, size - overlap)]
        for doc in questions.doc.unique()
    }
    assert sum(map(len, division.values())) == expected["n_chunks"]
    results = {t: division[d] for t, d in zip(questions.topics, questions.doc, strict=True)}
    found = scores(Run.from_results(results), questions, ["ce_precision_omega"])
    assert found.mean() == pytest.approx(expected["precision_omega_mean"], abs=1e-14)


def divided(length: int, size: int, step: int) -> list[tuple[int, int]]:
    """Windows of a text, one every `step` characters."""
    return [(at, min(at + size, length)) for at in range(0, length, step)]


# -- LegalBench-RAG -----------------------------------------------------------------------------


class Okapi:
    """BM25 as rank_bm25 has it, by which the reference scores were made."""

    def __init__(self, texts: Sequence[str], k1: float = 1.5, b: float = 0.75) -> None:
        counts = [Counter(self.words(text)) for text in texts]
        length = np.array([own.total() for own in counts])
        self.n = len(texts)
        self.norm = k1 * (1 - b + b * length / length.mean())
        self.gain = k1 + 1
        places: dict[str, list[int]] = {}
        for i, own in enumerate(counts):
            for word in own:
                places.setdefault(word, []).append(i)
        self.places = {word: np.array(own) for word, own in places.items()}
        self.counts = {
            word: np.array([counts[i][word] for i in own]) for word, own in places.items()
        }
        weight = {
            word: np.log(self.n - len(own) + 0.5) - np.log(len(own) + 0.5)
            for word, own in places.items()
        }
        least = 0.25 * sum(weight.values()) / len(weight)
        self.weight = {word: own if own >= 0 else least for word, own in weight.items()}

    @staticmethod
    def words(text: str) -> list[str]:
        return re.findall(r"\w+", text.lower())

    def ranked(self, query: str, most: int) -> list[int]:
        score = np.zeros(self.n)
        for word in self.words(query):
            if word in self.places:
                at, count = self.places[word], self.counts[word]
                score[at] += self.weight[word] * count * self.gain / (count + self.norm[at])
        return np.argsort(-score, kind="stable")[:most].tolist()


@pytest.fixture(scope="module")
def contracts() -> dict[str, str]:
    """Documents as the benchmark calls them; some of their files had to be renamed."""
    renamed = json.loads((LEGAL / "filename_map.json").read_text())
    original = {new: old for old, new in renamed.items()}
    texts = read_texts(LEGAL / "corpus")
    return {original.get(name, name): texts[name] for name in texts if name.endswith(".txt")}


@needs_legal
@pytest.mark.parametrize(
    ("benchmark", "chunker", "step"),
    [
        ("privacy_qa", "fixed500", 500),
        ("privacy_qa", "fixed500ov250", 250),
        ("privacy_qa", "fixed500ov400", 100),
        ("contractnli", "fixed500", 500),
        ("contractnli", "fixed500ov250", 250),
        ("contractnli", "fixed500ov400", 100),
    ],
)
def test_legalbench_rag_both_ways(
    benchmark: str, chunker: str, step: int, contracts: dict[str, str]
) -> None:
    listed = json.loads((LEGAL / "bm25_fixed500_overlap_scores.json").read_text())
    (expected,) = [r for r in listed if (r["benchmark"], r["chunker"]) == (benchmark, chunker)]
    judgements, topics = read_gold(LEGAL / "benchmarks" / f"{benchmark}.json", texts=contracts)
    assert len(topics) == expected["n_tests"]
    chunks = [
        (doc, *span)
        for doc, text in sorted(contracts.items())
        if doc.startswith(benchmark)
        for span in divided(len(text), 500, step)
    ]
    okapi = Okapi([contracts[doc][start:end] for doc, start, end in chunks])
    run = Run.from_results(
        {topic.id: [chunks[i] for i in okapi.ranked(topic.title or "", 64)] for topic in topics}
    )
    ranks = (1, 4, 16, 64)
    theirs = [f"lbr_{name}@{k}" for name in ("precision", "recall") for k in ranks]
    ours = [f"char{name}@{k}" for name in "PR" for k in ranks]
    found = scores(run, judgements, theirs)
    sound = scores(run, judgements, ours, overlap="union")
    labels = [f"{name}@{k}" for name in "PR" for k in ranks]
    # The reference has four decimals.
    assert found.mean(axis=0).tolist() == pytest.approx(
        [expected[f"up_{label}"] for label in labels], abs=5.0001e-5
    )
    assert sound.mean(axis=0).tolist() == pytest.approx(
        [expected[f"ok_{label}"] for label in labels], abs=5.0001e-5
    )
    assert (found[:, labels.index("R@16")] > 1).sum() == expected["queries_recall_gt1_at16"]
    assert found[:, labels.index("R@64")].max() == expected["max_recall_at64"]
    assert sound.max() <= 1


# -- TREC Genomics ------------------------------------------------------------------------------


@needs_genomics
@pytest.mark.parametrize("number", ["01", "02"])
def test_trec_genomics_topic_by_topic(number: str) -> None:
    gold, _ = read_gold(GENOMICS / "gold.txt")
    run = RUN_FORMATS["trec-genomics-run"](Source.open(GENOMICS / f"run-{number}.txt"))
    with (GENOMICS / f"official-{number}.per_topic.tsv").open() as file:
        official = {
            (row["MEASURE"].strip(), row["TOPIC"]): float(row["SCORE"])
            for row in csv.DictReader(file, delimiter="\t")
        }
    names = ("DOCUMENT", "PASSAGE", "ASPECT", "PASSAGE2")
    found = scores(run, gold, names)
    for column, name in enumerate(names):
        expected = [official[name, topic] for topic in gold.topics]
        assert found[:, column].tolist() == pytest.approx(expected, abs=5.0001e-9)
    # The other means of that file repeat the first.
    assert found[:, 0].mean() == pytest.approx(official["DOCUMENT", "MAP"], abs=5.0001e-9)
