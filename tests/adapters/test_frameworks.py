"""Objects of LangChain, LlamaIndex, Haystack and Chonkie as runs, made by the packages themselves.

Each framework cuts the documents of the example campaign, a ranking by rare words retrieves, and
what comes of it is compared with places and scores worked out without any adapter.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

import foveal
from adapters.chunk_retrieval import JUDGEMENTS, framework, retrieved, texts
from foveal.model import Run

langchain = framework("langchain_core.documents")
splitters = framework("langchain_text_splitters")
llama = framework("llama_index.core.schema")
parsers = framework("llama_index.core.node_parser")
haystack = framework("haystack")
preprocessors = framework("haystack.components.preprocessors")
chonkie = framework("chonkie")

MEASURES = ["charP@5", "charR@5", "iP@0.01"]


class Place(NamedTuple):
    doc: str
    start: int
    text: str


def places(run: Run) -> list[tuple[str, str, int, int]]:
    return run.to_frame().select("topic", "doc", "start", "end").rows()


# -- each framework on the example campaign -----------------------------------------------------


def of_langchain() -> list[Any]:
    splitter = splitters.RecursiveCharacterTextSplitter(
        chunk_size=400, chunk_overlap=0, add_start_index=True
    )
    documents = [
        langchain.Document(page_content=text, metadata={"source": doc})
        for doc, text in texts().items()
    ]
    return splitter.split_documents(documents)


def of_llama() -> list[Any]:
    parser = parsers.SentenceSplitter(chunk_size=80, chunk_overlap=0, tokenizer=str.split)
    documents = [llama.Document(text=text, id_=doc) for doc, text in texts().items()]
    return parser.get_nodes_from_documents(documents)


def of_haystack() -> list[Any]:
    splitter = preprocessors.DocumentSplitter(split_by="word", split_length=70, split_overlap=0)
    documents = [haystack.Document(content=text, id=doc) for doc, text in texts().items()]
    return splitter.run(documents)["documents"]


def of_chonkie() -> list[Any]:
    chunker = chonkie.RecursiveChunker(tokenizer="character", chunk_size=400)
    return [
        chunk
        for doc, text in texts().items()
        for chunk in chunker.chunk_document(
            chonkie.Document(content=text, metadata={"source": doc})
        ).chunks
    ]


FRAMEWORKS = {
    "LangChain": (
        of_langchain,
        lambda c: Place(c.metadata["source"], c.metadata["start_index"], c.page_content),
    ),
    "LlamaIndex": (of_llama, lambda c: Place(c.ref_doc_id, c.start_char_idx, c.text)),
    "Haystack": (
        of_haystack,
        lambda c: Place(c.meta["source_id"], c.meta["split_idx_start"], c.content),
    ),
    "Chonkie": (of_chonkie, lambda c: Place(c.metadata["source"], c.start_index, c.text)),
}


@pytest.fixture(scope="module", params=FRAMEWORKS)
def found(request: pytest.FixtureRequest) -> tuple[str, dict[str, list[tuple[Any, float]]], Any]:
    make, place = FRAMEWORKS[request.param]
    return request.param, retrieved(make(), lambda chunk: place(chunk).text), place


def test_chunks_stand_where_the_splitter_says(found) -> None:
    # Splitters strip white space; from its start on, a chunk has the characters of the document.
    _, results, place = found
    pairs = {topic: [chunk for chunk, _ in own] for topic, own in results.items()}
    run = foveal.run_of(pairs, texts=texts())
    expected = []
    for topic, own in pairs.items():
        for doc, start, text in map(place, own):
            assert texts()[doc][start : start + len(text)] == text
            expected.append((topic, doc, start, start + len(text)))
    assert places(run) == expected
    assert len(run) == 20 * 12
    assert run.length is not None
    assert run.length.tolist() == [len(texts()[doc]) for doc in run.doc]


def test_three_lines_are_scored_as_offsets_are(found) -> None:
    _, results, place = found
    pairs = {topic: [chunk for chunk, _ in own] for topic, own in results.items()}
    by_hand = Run.from_results(
        {
            topic: [(p.doc, p.start, p.start + len(p.text)) for p in map(place, own)]
            for topic, own in pairs.items()
        }
    )
    scores = foveal.evaluate(pairs, JUDGEMENTS, MEASURES)
    assert scores.aggregate() == foveal.evaluate(by_hand, JUDGEMENTS, MEASURES).aggregate()
    assert scores.aggregate()["run"]["charR@5"] > 0.05


def test_pairs_with_scores_keep_scores_and_order(found) -> None:
    _, results, _ = found
    run = foveal.run_of(results, name="mine")
    assert run.score is not None
    assert run.score.tolist() == [score for own in results.values() for _, score in own]
    without = {topic: [chunk for chunk, _ in own] for topic, own in results.items()}
    assert places(run) == places(foveal.run_of(without))
    upside_down = {topic: own[::-1] for topic, own in results.items()}
    turned = foveal.run_of(upside_down)
    assert places(turned)[:20] == places(run)[19::-1]  # the list is the ranking, not the scores


def test_results_without_offsets_are_placed_by_their_text(found) -> None:
    name, results, place = found
    only_text = {
        topic: [{"doc": place(chunk).doc, "text": place(chunk).text} for chunk, _ in own]
        for topic, own in results.items()
    }
    placed = foveal.run_of(only_text, texts=texts())
    assert places(placed) == places(foveal.run_of(results))
    assert placed.notes == (), name


# -- what each framework's objects say ----------------------------------------------------------


def test_a_langchain_document() -> None:
    document = langchain.Document(
        page_content="a ferry", metadata={"source": "d1", "start_index": 40, "page": 3}
    )
    assert places(foveal.run_of({"1": [document]})) == [("1", "d1", 40, 47)]
    stored = document.model_dump()
    assert places(foveal.run_of({"1": [stored]})) == [("1", "d1", 40, 47)]
    named = langchain.Document(
        page_content="a ferry", metadata={"source": "x.pdf", "id": 7, "start_index": 40.0}
    )
    assert places(foveal.run_of({"1": [named]}, doc="id")) == [("1", "7", 40, 47)]
    assert places(foveal.run_of({"1": [named]}, doc=lambda d: d.metadata["source"][:1])) == [
        ("1", "x", 40, 47)
    ]


def test_a_llamaindex_node_with_and_without_score() -> None:
    document = llama.Document(text="Ferries. Fords.", id_="d1", metadata={"file_name": "a.txt"})
    parser = parsers.SentenceSplitter(chunk_size=60, chunk_overlap=0, tokenizer=list)
    first, second = (
        node
        for own in [document, llama.Document(text="Tolls.", id_="d2")]
        for node in parser.get_nodes_from_documents([own])
    )
    scored = [llama.NodeWithScore(node=second, score=0.5), llama.NodeWithScore(node=first)]
    run = foveal.run_of({"1": scored})
    assert places(run) == [("1", "d2", 0, 6), ("1", "d1", 0, 15)]
    assert run.score is None
    (note,) = run.notes
    assert note.startswith("results without a score, so that all scores are left out: 1")
    assert places(foveal.run_of({"1": [first]}, doc="file_name")) == [("1", "a.txt", 0, 15)]


def test_a_haystack_document() -> None:
    piece = haystack.Document(
        content="a ferry", meta={"source_id": "d1", "split_idx_start": 40}, score=0.25
    )
    run = foveal.run_of({"1": [piece]})
    assert places(run) == [("1", "d1", 40, 47)]
    assert run.score is not None
    assert run.score.tolist() == [0.25]
    assert places(foveal.run_of({"1": [piece.to_dict()]})) == [("1", "d1", 40, 47)]


def test_a_chonkie_chunk_and_its_tokens() -> None:
    chunk = chonkie.Chunk(text="a ferry", start_index=40, end_index=47, token_count=2)
    run = foveal.run_of({"1": [("d1", chunk)], "2": [("d2", chunk, 0.5)]})
    assert places(run) == [("1", "d1", 40, 47), ("2", "d2", 40, 47)]
    assert run.tokens is not None
    assert run.tokens.tolist() == [2, 2]
    assert foveal.run_of({"2": [("d2", chunk, 0.5)]}).score.tolist() == [0.5]


# -- what is missing ----------------------------------------------------------------------------


def refused(results: Any, **options: Any) -> str:
    with pytest.raises(foveal.FovealError) as caught:
        foveal.run_of({"1": results}, **options)
    return str(caught.value)


def test_langchain_is_told_of_its_option() -> None:
    splitter = splitters.CharacterTextSplitter(separator=".", chunk_size=9, chunk_overlap=0)
    chunks = splitter.split_documents(
        [langchain.Document(page_content="A ferry.A ford.", metadata={"source": "d1"})]
    )
    message = refused(chunks)
    assert "run:1: topic '1': the start is missing" in message
    assert "add_start_index=True" in message
    assert len(message.splitlines()) == len(chunks) == 2
    placed = foveal.run_of({"1": chunks}, texts={"d1": "A ferry.A ford."})
    assert places(placed) == [("1", "d1", 0, 7), ("1", "d1", 8, 14)]


def test_langchain_did_not_find_its_own_chunk() -> None:
    # A regular expression as separator comes back as itself between the parts of a chunk.
    splitter = splitters.CharacterTextSplitter(
        separator=r"\s+",
        is_separator_regex=True,
        chunk_size=12,
        chunk_overlap=0,
        add_start_index=True,
    )
    document = langchain.Document(page_content="a ford  a ferry", metadata={"source": "d1"})
    lost = [c for c in splitter.split_documents([document]) if c.metadata["start_index"] == -1]
    assert lost
    assert "the start is missing or -1" in refused(lost)
    assert "is not in document 'd1'" in refused(lost, texts={"d1": "a ford  a ferry"})
    empty = foveal.run_of({"1": lost}, texts={"d1": "a ford  a ferry"}, unplaced="empty")
    assert empty.notes == ("texts without a place of their own in their document, left empty: 1",)
    assert (empty.end - empty.start).tolist() == [0, 5]


def test_objects_without_document_or_place() -> None:
    chunk = langchain.Document(page_content="abc", metadata={"start_index": 0})
    assert "name it doc, source or metadata['source']" in refused([chunk])
    assert "give its field: doc='...'" in refused([chunk], doc="file")
    own = chonkie.Chunk(text="abc", start_index=0, end_index=3, token_count=1)
    assert "the document is missing" in refused([own])
    assert "the document is missing" in refused([haystack.Document(content="abc")])
    piece = haystack.Document(content="abc", meta={"source_id": "d1"})
    assert "the start is missing" in refused([piece])


def test_llamaindex_nodes_of_no_document() -> None:
    node = llama.TextNode(text="abc", start_char_idx=0, end_char_idx=3)
    assert "the document is missing" in refused([node])
    source = {llama.NodeRelationship.SOURCE: llama.RelatedNodeInfo(node_id="d1")}
    unplaced = llama.TextNode(text="abc", relationships=source)
    assert "the start is missing" in refused([unplaced])
    assert places(foveal.run_of({"1": [unplaced]}, texts={"d1": "xabc"})) == [("1", "d1", 1, 4)]


def test_llamaindex_offsets_inside_a_parent_are_found_out() -> None:
    # The parser of hierarchies names the document and counts from the start of the parent node.
    text = " ".join(f"Sentence number {i} speaks of ferry {i}." for i in range(40))
    levels = {
        size: parsers.SentenceSplitter(chunk_size=size, chunk_overlap=0, tokenizer=str.split)
        for size in (120, 60)
    }
    parser = parsers.HierarchicalNodeParser.from_defaults(
        node_parser_ids=[str(size) for size in levels],
        node_parser_map={str(size): own for size, own in levels.items()},
    )
    nodes = parser.get_nodes_from_documents([llama.Document(text=text, id_="d1")])
    wrong = [n for n in nodes if text[n.start_char_idx : n.end_char_idx] != n.text]
    assert wrong
    assert {n.ref_doc_id for n in wrong} == {"d1"}
    assert "document 'd1' holds 'Sentence number 0" in refused(wrong, texts={"d1": text})


def test_llamaindex_windows_in_the_place_of_sentences() -> None:
    replacement = framework("llama_index.core.postprocessor").MetadataReplacementPostProcessor
    parser = parsers.SentenceWindowNodeParser.from_defaults(
        window_size=1, sentence_splitter=lambda text: [f"{part}." for part in text.split(".")[:-1]]
    )
    document = llama.Document(text="A ferry. A ford. A bridge.", id_="d1")
    nodes = [
        llama.NodeWithScore(node=node, score=1.0)
        for node in parser.get_nodes_from_documents([document])
    ]
    assert foveal.run_of({"1": nodes}).end.tolist() == [8, 16, 26]
    widened = replacement(target_metadata_key="window").postprocess_nodes(nodes)
    assert "[0,8) has length 8, but its text has 17" in refused(widened)


def test_haystack_pieces_of_pieces() -> None:
    text = "one two three four five six seven eight"
    splitter = preprocessors.HierarchicalDocumentSplitter(
        block_sizes={4, 2}, split_overlap=0, split_by="word"
    )
    pieces = splitter.run([haystack.Document(content=text, id="d1")])["documents"]
    large = [piece for piece in pieces if piece.meta.get("source_id") == "d1"]
    assert places(foveal.run_of({"1": large}, texts={"d1": text})) == [
        ("1", "d1", 0, 19),
        ("1", "d1", 19, 39),
    ]
    assert "is not among the texts" in refused(pieces[3:], texts={"d1": text})
