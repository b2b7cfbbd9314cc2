"""`Measure`: a value with a name, typed parameters, a cut-off and a computation.

A measure of the registry is a subclass of `Measure` in the file of its family. Its declaration
drives everything else: the text syntax, ``foveal measures NAME``, the reference pages, validation
and the tests that every measure must pass.

`FAMILIES` names the module of every measure, so that only the modules in use are imported. Another
package adds measures by entry points of the group ``foveal.measures``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from enum import Enum
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Self, TypeVar, cast, overload

import numpy as np

from foveal.errors import UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from foveal.measures.alignment import Alignment, Floats, Gold, TopicView

T = TypeVar("T")
N = TypeVar("N", bound="float | None")
_PLACES = (
    "start and end offsets in the run, the lengths of documents returned whole, or for XPaths an "
    "index of the collection: give it with --collection INDEX ('foveal index' makes one)"
)
CURVE = "curve"
_LARGEST = 1e12  # no parameter means anything beyond this
_RANK = r"[0-9]{1,12}"
_LEVEL = r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE]-?[0-9]{1,3})?"


class Cutoff(Enum):
    """Kind of cut-off that a measure takes after its ``@``."""

    NONE = "no cut-off"
    RANK = "rank"
    RANK_OPTIONAL = "rank, optional"
    RECALL = "recall"
    RECALL_OPTIONAL = "recall, optional"

    def __init__(self, text: str) -> None:
        self.required = text in ("rank", "recall")
        self.of_recall = text.startswith("recall")
        """True for a level of recall, False for a rank."""
        self.example = "0.01" if self.of_recall else "10"


class OverlapRule(Enum):
    """Treatment of overlapping results by a measure, unless ``--overlap`` says otherwise."""

    ALLOW = "counted as they are"
    ERROR = "an error"
    ONE_PER_DOCUMENT = "one result per document, more is an error"


class Need(Enum):
    """An input that a measure needs, and what would supply it."""

    TEXT = (
        "relevant text",
        "judgements with highlighted passages (FOL, JSON Lines), not of whole documents",
    )
    SPANS = ("the place of every result", _PLACES)
    RELEVANT_SPANS = ("the place of every result in a relevant document", _PLACES)
    RELEVANT_STARTS = ("where results in relevant documents start", _PLACES)
    BEP = ("best entry points", "judgements that give a BEP for relevant documents")
    RELEVANT_LENGTHS = ("lengths of the relevant documents", "judgements that give them")
    LENGTHS = (
        "lengths of all retrieved documents",
        "judgements that give a length for each of them, or a collection",
    )
    MEAN_LENGTH = ("the mean document length", "judgements that give lengths, or the parameter L")
    ELEMENTS = ("assessed elements with their rsize", "JSON Lines judgements with elements")
    STRUCTURE = (
        "the elements of relevant documents",
        "assessments of elements (INEX XML, JSON Lines), or highlights and --collection INDEX",
    )
    ELEMENT_RESULTS = (
        "results that are elements",
        "an XPath for each, or a collection (--collection) that knows them by their offsets",
    )
    COLLECTION_SIZE = (
        "the number of elements in the collection",
        "a collection (--collection), or the parameter collection_size",
    )
    ANSWERS = ("answers with citations", "a file of answers (foveal formats answers)")
    RETRIEVED = (
        "the run that the answers were made from, with the place of every result",
        "that run (--retrieved RUN), and for XPaths or whole documents a collection (--collection)",
    )
    ELEMENT_SIZES = (
        "the sizes of assessed elements",
        "assessments that give them (2005 and later), or a collection (--collection)",
    )

    def __init__(self, what: str, supplied_by: str) -> None:
        self.what = what
        self.supplied_by = supplied_by


class Example(NamedTuple):
    """A run on the toy campaign (`foveal.measures.toy`) and the score it gets, to 4 decimals."""

    run: str
    value: float
    measure: str = ""


def format_number(value: float) -> str:
    """Return the shortest text of a number that reads back as itself.

    >>> format_number(1.0), format_number(0.25), format_number(500)
    ('1', '0.25', '500')
    """
    return str(int(value)) if value == int(value) else repr(float(value))


class Parameter(Generic[T]):
    """A parameter of a measure: type, default, description; on an instance, its value."""

    def __init__(self, default: T, description: str, *, first: bool = False) -> None:
        self.default = default
        self.description = description
        self.first = first
        self.name = self.attribute = ""

    def __set_name__(self, owner: type, name: str) -> None:
        # A parameter may have the name of an attribute of all measures: ideal_, formula_.
        self.name, self.attribute = name.rstrip("_"), name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: Measure, owner: type) -> T: ...
    def __get__(self, instance: Measure | None, owner: type) -> Self | T:
        return self  # of the class; an instance has its value as an attribute (Measure.__init__)

    def read(self, value: Any) -> T:
        """Check and return the value a user gave; raise ValueError with what is allowed."""
        raise NotImplementedError  # pragma: no cover - every kind of parameter defines it

    def show(self, value: T) -> str:
        return str(value)

    @property
    def allowed(self) -> str:
        """The values it takes, default first, for help texts."""
        return self.show(self.default)


class Choice(Parameter[str]):
    """One of a few words, in any case: ``Choice("pad|last", ...)``, default first."""

    def __init__(self, options: str, description: str, *, first: bool = False) -> None:
        self.options = tuple(options.split("|"))
        super().__init__(self.options[0], description, first=first)

    def read(self, value: Any) -> str:
        for option in self.options:
            if option.casefold() == str(value).casefold():
                return option
        raise ValueError(" or ".join(self.options))

    @property
    def allowed(self) -> str:
        return "|".join(self.options)


class Flag(Parameter[bool]):
    """Yes or no."""

    def read(self, value: Any) -> bool:
        if str(value).lower() not in ("true", "false"):
            raise ValueError("true or false")
        return str(value).lower() == "true"

    def show(self, value: bool) -> str:  # noqa: FBT001 - the value itself
        return str(value).lower()

    @property
    def allowed(self) -> str:
        return f"{self.show(self.default)}|{self.show(not self.default)}"


class Number(Parameter[N]):
    """A number within bounds; a whole one if `whole`. A `word` is what None is written as."""

    def __init__(
        self,
        default: N,
        description: str,
        *,
        low: float = 0.0,
        high: float = _LARGEST,
        whole: bool = False,
        word: str | None = None,
    ) -> None:
        super().__init__(default, description)
        self.low, self.high, self.whole, self.word = low, high, whole, word

    def read(self, value: Any) -> N:
        if self.word is not None and (value is None or str(value).casefold() == self.word):
            return cast("N", None)
        try:
            number = float(str(value))
        except ValueError:
            number = -1.0
        if not self.low <= number <= self.high or (self.whole and number != int(number)):
            bounds = f"from {format_number(self.low)} to {format_number(self.high)}"
            kind = "a whole number" if self.whole else "a number"
            raise ValueError(f"{kind} {bounds}" + (f", or {self.word}" if self.word else ""))
        return cast("N", int(number) if self.whole else number)

    def show(self, value: N) -> str:
        return str(self.word) if value is None else format_number(value)


class Measure:
    """A measure with its parameters and cut-off: ``gP(beta=0.25)@10`` in Python and in text.

    Immutable; calling sets parameters, ``@`` sets the cut-off. Two measures are equal when they
    compute the same thing, however they were written.

    >>> from foveal.measures import AgP, gP, iP
    >>> gP(beta=0.25) @ 10
    gP(beta=0.25)@10
    >>> AgP(score="F") == AgP
    True
    >>> iP @ 0.1 == iP @ "0.10"
    True
    """

    name: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    section: ClassVar[str] = ""
    """Section of the specification; measures of other packages have none."""
    formula: ClassVar[str]
    source: ClassVar[str]
    example: ClassVar[Example]
    cutoff: ClassVar[Cutoff] = Cutoff.NONE
    curve: ClassVar[tuple[str, ...]] = ()
    range: ClassVar[tuple[float, float | None]] = (0.0, 1.0)
    summed: ClassVar[bool] = False
    """On topic ``all`` the values are summed instead of averaged."""
    always_defined: ClassVar[bool] = False
    """Defined also on topics without relevant text."""
    on_unanswerable: ClassVar[bool] = False
    """Defined on unanswerable topics only; all other measures are defined on the others only."""
    structural: ClassVar[bool] = False
    """About elements and their nesting; a result that is not an element is an error."""
    grouped: ClassVar[bool] = False
    """Results of one document must be adjacent (in-context measures)."""
    ideal: ClassVar[float | None] = 1.0
    """The score of a run that returns exactly the relevant passages; None: it depends."""
    higher_is_better: ClassVar[bool | None] = True
    """True if high scores are good, False if low ones are, None for counts."""
    unsound: ClassVar[str] = ""
    """Why its scores mislead, for measures of other tools that are kept for comparison."""
    axioms: ClassVar[Mapping[str, str]] = {}
    """Soundness tests that it is meant to break, each with the reason (`foveal.axioms`)."""
    parameters: ClassVar[tuple[Parameter[Any], ...]] = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        found: dict[str, Parameter[Any]] = {}
        for base in reversed(cls.__mro__):
            found |= {n: p for n, p in vars(base).items() if isinstance(p, Parameter)}
        cls.parameters = tuple(sorted(found.values(), key=lambda p: not p.first))
        hooks = ("score_topic", "score_topics")
        own = next(vars(base) for base in cls.__mro__ if any(hook in vars(base) for hook in hooks))
        if "score_topics" not in own and cls.score_topics is not Measure.score_topics:
            raise TypeError(
                f"{cls.__name__} defines score_topic, but its base scores all topics at once; "
                "define score_topics"
            )

    def __init__(self, settings: dict[str, Any] | None = None, at: Decimal | None = None) -> None:
        self.settings = settings = settings or {}
        self.key = tuple(settings.items())
        """The settings; a key to what a measure shares with itself at other cut-offs."""
        self.at = at
        shown = []
        for parameter in self.parameters:
            value = settings.get(parameter.name, parameter.default)
            vars(self)[parameter.attribute] = value
            if parameter.name in settings:
                shown.append(f"{parameter.name}={parameter.show(value)}")
        in_brackets = f"({','.join(shown)})" if shown else ""
        self.label = f"{self.name}{in_brackets}" + ("" if at is None else f"@{at:f}")
        """The canonical spelling: only what differs from the defaults, in declared order."""

    # -- a measure as a value -------------------------------------------------------------------

    def __call__(self, **settings: Any) -> Self:
        """Return the measure with these parameters changed."""
        by_name = {parameter.name: parameter for parameter in self.parameters}
        merged = dict(self.settings)
        for name, value in settings.items():
            if name not in by_name:
                takes = ", ".join(by_name) or "none"
                raise UsageError(f"{self.name} has no parameter {name!r}; it takes {takes}")
            try:
                merged[name] = by_name[name].read(value)
            except ValueError as expected:
                raise UsageError(
                    f"{self.name}: parameter {name}={value} is not possible; expected {expected}"
                ) from None
        kept = {n: merged[n] for n, p in by_name.items() if merged.get(n, p.default) != p.default}
        return type(self)(kept, self.at)

    def __matmul__(self, at: float | str | Decimal) -> Self:
        """Return the measure at a rank or recall level."""
        text = str(int(at) if isinstance(at, float) and at.is_integer() else at)
        if self.cutoff is Cutoff.NONE:
            raise UsageError(f"{self.name} takes no cut-off; {self.name}@{text} is not possible")
        of_recall = self.cutoff.of_recall
        form = _LEVEL if of_recall else _RANK
        number = Decimal(text) if re.fullmatch(form, text) else Decimal(-1)
        if not (0 <= number <= 1 if of_recall else number >= 1):
            expected = "recall level from 0 to 1" if of_recall else "rank, a whole number from 1"
            raise UsageError(f"{self.name}@{text} is not possible; expected a {expected}")
        if of_recall:
            # The classic points keep their two decimals (iP@0.00); others their shortest form.
            exponent = number.as_tuple().exponent
            if not (isinstance(exponent, int) and -2 <= exponent <= 0):
                number = Decimal(format(number.normalize(), "f"))
        return type(self)(self.settings, number)

    @property
    def spelling(self) -> str:
        """Name and kind of cut-off, for help texts."""
        at = "" if self.cutoff is Cutoff.NONE else "@x" if self.cutoff.of_recall else "@k"
        return f"{self.name}{at}" if self.cutoff.required or not at else f"{self.name}[{at}]"

    def __repr__(self) -> str:
        return self.label

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Measure) or type(self) is not type(other):
            return False
        return self.settings == other.settings and self.at == other.at

    def __hash__(self) -> int:
        return hash((self.name, self.key, self.at))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.settings, self.at)

    # -- a measure as a computation -------------------------------------------------------------

    @property
    def overlap_rule(self) -> OverlapRule:
        """Treatment of overlapping results by this measure with these parameters."""
        return OverlapRule.ALLOW

    @property
    def needs(self) -> tuple[Need, ...]:
        """Inputs that this measure with these parameters needs."""
        return (Need.TEXT, Need.SPANS)

    @property
    def averages(self) -> tuple[Measure, ...]:
        """Measures whose means over topics this one averages; empty if it has its own mean."""
        return ()

    @property
    def rank(self) -> int | None:
        """The rank cut-off."""
        return None if self.at is None else int(self.at)

    def check(self) -> None:
        """Refuse a measure that lacks its cut-off."""
        if self.at is None and self.cutoff.required:
            kind, example = self.cutoff.value, f"{self.name}@{self.cutoff.example}"
            raise UsageError(f"{self.name} needs a {kind} cut-off, as in {example}")

    def check_gold(self, gold: Gold) -> None:
        """Refuse judgements that this measure with these parameters is not made for."""

    def notes(self, gold: Gold) -> tuple[str, ...]:  # noqa: ARG002 - for those that need it
        """Return remarks on this measure with these judgements; its name is put before them."""
        return ()

    @classmethod
    def score_curve(cls, measures: Sequence[Self], alignment: Alignment) -> Floats:
        """Return the scores (topic, measure) of measures that differ only in their cut-offs.

        A family overrides it where all points of a curve cost little more than one.
        """
        return np.column_stack([measure.score_topics(alignment) for measure in measures])

    def score_topics(self, alignment: Alignment) -> Floats:
        """Return the score on every judged topic; nan where it is undefined.

        A measure overrides this, or `score_topic` if topics are scored one by one.
        """
        scores = np.full(len(alignment.gold.topics), np.nan)
        for view in map(alignment.topic, alignment.gold.topics):
            if self.always_defined or self.is_defined(view):
                scores[view.at] = self.score_topic(view)
        return scores

    def is_defined(self, topic: TopicView) -> bool:
        """Return True if the topic has anything to find."""
        return topic.relevant_documents > 0

    def score_topic(self, topic: TopicView) -> float:
        """Return the score on a topic that has something relevant."""
        raise NotImplementedError  # pragma: no cover - every measure defines it or score_topics


# -- all measures ----------------------------------------------------------------------------------

FAMILIES = {
    "precall": "inex_eval precall inex_eval_ng",
    "xcg": "xCG nxCG MAnxCG MAxCG ep gr MAep Aep iMAep Q Q-measure Rmeasure R-measure",
    "fetch_browse": "FBarticle FBelement",
    "characters": "HiP HiR HiF iP AiP MAiP charP char_prec charR char_rec charF char_f1",
    "evidence_sets": "answered evR evRR slotR slotsAll",
    "citations": "citeValid citeP citeR citeF cited overcite utilisation completeness",
    "in_context": "gP gR gRw gR' AgP MAgP AgPw AgP' MAgP' igP BEPD",
    "eprum": "GR EPRUM EPRUMk PRUM",
    "t2i": "T2I T2IP T2IR T2Ieffort T2IcharP T2IcharR",
    "run_figures": (
        "P Precision R Recall AP MAP SetOverlap ListOverlap MeanOverlap Redundancy "
        "rejected accepted judged num_ret num_rel num_rel_ret ret_size rel_size rel_ret_size"
    ),
    "ranking": (
        "nDCG ndcg RR MRR recip_rank Success Hit hit_rate Rprec RBP RBPres ERR Bpref infAP"
    ),
    "chunk_retrieval": "ce_recall ce_precision ce_iou ce_precision_omega lbr_precision lbr_recall",
    "biomedical": (
        "gen_document DOCUMENT gen_passage PASSAGE gen_aspect ASPECT gen_passage2 PASSAGE2 "
        "bio_precision bio_recall bio_f1 bio_ap bio_map"
    ),
    "answer_spans": "eraser_iou_p eraser_iou_r eraser_iou_f1 squad_f1",
}
"""Modules of this package in the order of listing, each with the names and aliases it defines."""

GROUP = "foveal.measures"
"""The group of entry points by which other packages register their measures."""
_DECLARED = ("name", "formula", "source", "example")
_FORM = re.compile(
    r"\s*(?P<name>[^()@\s]+)\s*(?:\((?P<settings>[^()]*)\))?\s*(?:@(?P<at>.*))?", re.DOTALL
)


@cache
def load_registry() -> MappingProxyType[str, Measure]:
    """Return all measures by name, with default parameters, in the order of listing.

    Measures of other packages come last.
    """
    from importlib.metadata import entry_points

    words = (word for names in FAMILIES.values() for word in names.split())
    own = list(dict.fromkeys(map(find_measure, words)))
    listed = [*own, *_load_entry_points(entry_points(group=GROUP), own)]
    return MappingProxyType({measure.name: measure for measure in listed})


def all_measures() -> tuple[Measure, ...]:
    """Return every measure in the order of listing."""
    return tuple(load_registry().values())


def _load_entry_points(points: Iterable[EntryPoint], own: Iterable[Measure]) -> list[Measure]:
    """Return the measures of other packages by name; refuse a bad one, naming its entry point."""
    taken = {word: "Foveal itself" for m in own for word in (m.name, *m.aliases)}
    found: list[Measure] = []
    for point in sorted(points, key=lambda p: (p.name, p.value)):
        origin = f"{point.name} = {point.value}"
        try:
            cls = point.load()
            _ = cls(), *(getattr(cls, word) for word in _DECLARED)
            known = [word for word in (cls.name, *cls.aliases) if word in taken]
            if known:
                raise ValueError(f"the name {known[0]!r} is that of {taken[known[0]]}")
        except Exception as error:  # whatever another package raises
            raise UsageError(
                f"the measure of the entry point {origin!r} ({GROUP}) cannot be used "
                f"({type(error).__name__}: {error}); fix or remove the package that brings it"
            ) from None
        taken |= dict.fromkeys((cls.name, *cls.aliases), origin)
        found.append(cls())
    return found


def find_measure(name: str) -> Measure:
    """Return the measure of this name or alias; case is ignored if only one name then fits.

    Only its family is imported.

    >>> find_measure("MAgP"), find_measure("aip")
    (AgP, AiP)
    """
    for module, names in FAMILIES.items():
        if name in names.split():
            for cls in vars(import_module(f"foveal.measures.{module}")).values():
                is_measure = isinstance(cls, type) and issubclass(cls, Measure)
                if is_measure and name in (vars(cls).get("name"), *cls.aliases):
                    return cast("Measure", cls())
    spellings = {word: m for m in all_measures() for word in (m.name, *m.aliases)}
    if name in spellings:
        return spellings[name]
    from difflib import get_close_matches

    near = sorted(word for word in spellings if word.casefold() == name.casefold())
    if len({spellings[word] for word in near}) == 1:
        return spellings[near[0]]
    if not near:
        by_fold = {word.casefold(): word for word in reversed(spellings)}
        near = [by_fold[word] for word in get_close_matches(name.casefold(), by_fold, 3, 0.5)]
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    raise UsageError(f"unknown measure {name!r}{hint} ('foveal measures' lists them)")


def parse_measures(text: str) -> tuple[Measure, ...]:
    """Parse one measure, or with ``@curve`` all points of its curve.

    >>> parse_measures("iP@0.01")
    (iP@0.01,)
    >>> len(parse_measures("iP@curve"))
    101
    """
    form = _FORM.fullmatch(text)
    if form is None:
        raise UsageError(
            f"cannot read measure {text!r}; expected Name(parameter=value,...)@cutoff, "
            "as in gP(beta=0.25)@10"
        )
    settings: dict[str, str] = {}
    for item in filter(str.strip, (form["settings"] or "").split(",")):
        name, _, value = (part.strip() for part in item.partition("="))
        if not value:
            raise UsageError(f"cannot read {item.strip()!r} in {text!r}; expected parameter=value")
        if name in settings:
            raise UsageError(f"parameter {name!r} is given twice in {text!r}")
        settings[name] = value.strip("\"'")
    measure = find_measure(form["name"])
    measure = measure(**settings) if settings else measure
    at = None if form["at"] is None else form["at"].strip()
    if at == CURVE:
        if not measure.curve:
            raise UsageError(f"{measure.name} has no curve")
        return tuple(measure @ point for point in measure.curve)
    measure = measure if at is None else measure @ at
    measure.check()
    return (measure,)


def parse_measure(text: str) -> Measure:
    """Parse one measure, written as ``Name(parameter=value,...)@cutoff``.

    >>> parse_measure("MAgP(n=500,score=BEP)")
    AgP(score=BEP)
    """
    parsed = parse_measures(text)
    if len(parsed) > 1:
        raise UsageError(f"{text!r} is a curve of {len(parsed)} measures; use parse_measures")
    return parsed[0]
