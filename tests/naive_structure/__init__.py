"""Naive reference implementation of the measures of structure: elements of trees, not spans.

An oracle for the tests: every function computes one measure of ONE topic directly from its
definition in the specification (METRICS.md, sections 1-10, 28 and 29), with sets of characters,
recursion over trees, plain loops and exact fractions. Nothing here is fast and nothing is shared
with the package under test.

Every measure has the signature ``name(results, documents, **keywords) -> float`` with the
parameters and defaults of section 28; a cut-off is the keyword ``k`` (a rank) or ``x`` (a recall
in (0, 1]). The value is nan on a topic without a relevant element. ``documents`` are all documents
of the collection, judged or not; a result is an element of one of them, in the run's order.

Below each measure is a function of bare numbers (``precall``, ``nxcg``, ``effort_precision``, ...),
so that examples that are given as lists of gains can be computed as well.

Readings chosen where the specification leaves more than one:

* an element without text has no value on any scale and is in no recall base (1.3, 6.2);
* ``inex_eval`` divides gen5 by 2 and genLifted by 3, for it needs values up to 1 (4);
* ``inex_eval(quant=mean7)`` of a topic is the mean of those of the seven values that are defined;
* a random tail is what the run left of the collection, so repeats and elements without text do
  not make it shorter (4);
* in ``inex_eval_ng(variant=s)`` a repeat adds nothing to recall; its text counts again in
  precision as all text seen before does in that variant (5);
* ``between=curve`` interpolates both curves and ``between=step`` neither, whatever ``ideal`` says:
  mixtures would exceed 1 or deny 1 to an ideal run (8);
* a function of quantisation is refused on the scale of another year; ``spec`` is one of 2005 too.
"""

from naive_structure.bases import full_base, ideal_base, path_winner
from naive_structure.inex_evals import (
    concept_grades,
    encyclopedia_precision,
    inex_eval,
    inex_eval_ng,
    ng_points,
    precall,
    tie_groups,
)
from naive_structure.quantisation import (
    QUANTISATIONS,
    SEVEN,
    quant_2002,
    quant_2003,
    quant_2005,
    quantised,
    resolve,
    scale_of,
)
from naive_structure.trees import (
    Assessment,
    Document,
    Key,
    Node,
    Result,
    Scale,
    Span,
    chars,
    elements,
    highlighted_in,
    is_below,
    overlap,
    paths,
    percents,
    rsize,
    spec,
)
from naive_structure.xcg import (
    FBarticle,
    FBelement,
    MAep,
    MAnxCG,
    Q,
    Rmeasure,
    average_effort_precision,
    effort_precision,
    ep,
    gr,
    iMAep,
    interpolated_effort_precision,
    natural_points,
    nxCG,
    nxcg,
    q_measure,
    r_measure,
    retrieved_docs,
    xCG,
)
from naive_structure.xcg_gains import Valuation, gains

__all__ = [
    "QUANTISATIONS",
    "SEVEN",
    "Assessment",
    "Document",
    "FBarticle",
    "FBelement",
    "Key",
    "MAep",
    "MAnxCG",
    "Node",
    "Q",
    "Result",
    "Rmeasure",
    "Scale",
    "Span",
    "Valuation",
    "average_effort_precision",
    "chars",
    "concept_grades",
    "effort_precision",
    "elements",
    "encyclopedia_precision",
    "ep",
    "full_base",
    "gains",
    "gr",
    "highlighted_in",
    "iMAep",
    "ideal_base",
    "inex_eval",
    "inex_eval_ng",
    "interpolated_effort_precision",
    "is_below",
    "natural_points",
    "ng_points",
    "nxCG",
    "nxcg",
    "overlap",
    "path_winner",
    "paths",
    "percents",
    "precall",
    "q_measure",
    "quant_2002",
    "quant_2003",
    "quant_2005",
    "quantised",
    "r_measure",
    "resolve",
    "retrieved_docs",
    "rsize",
    "scale_of",
    "spec",
    "tie_groups",
    "xCG",
]
