"""Naive reference implementation of the measures of structure: elements of trees, not spans.

An oracle for the tests: every function computes one measure of ONE topic directly from its
definition in the specification (METRICS.md, sections 1-10, 28 and 29), with sets of characters,
recursion over trees, plain loops and exact fractions. Nothing here is fast and nothing is shared
with the package under test.

Every measure has the signature ``name(results, documents, **keywords) -> float`` with the
parameters and defaults of section 28; a cut-off is the keyword ``k`` (a rank) or ``x`` (a recall
in (0, 1]). The value is nan on a topic without a relevant element. ``documents`` are all documents
of the collection, judged or not; a result is an element of one of them, in the run's order.

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

from naive_structure.bases import full_base, ideal_base
from naive_structure.inex_evals import (
    inex_eval,
    inex_eval_ng,
)
from naive_structure.quantisation import (
    quantised,
)
from naive_structure.trees import (
    Assessment,
    Document,
    Key,
    Node,
    Result,
    Scale,
    Span,
    elements,
    is_below,
    paths,
    rsize,
)
from naive_structure.xcg import (
    FBarticle,
    FBelement,
    MAep,
    MAnxCG,
    Q,
    Rmeasure,
    ep,
    gr,
    iMAep,
    nxCG,
    xCG,
)

__all__ = [
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
    "elements",
    "ep",
    "full_base",
    "gr",
    "iMAep",
    "ideal_base",
    "inex_eval",
    "inex_eval_ng",
    "is_below",
    "nxCG",
    "paths",
    "quantised",
    "rsize",
    "xCG",
]
