"""The query language of INEX: parser, printer and matcher."""

from foveal.nexi.matching import IEEE_CLASSES, matches, tags_of
from foveal.nexi.parser import NexiError, parse
from foveal.nexi.query import CAS, CO, About, And, Compare, Or, Part, Path, Query, Step, Term

__all__ = [
    "CAS",
    "CO",
    "IEEE_CLASSES",
    "About",
    "And",
    "Compare",
    "NexiError",
    "Or",
    "Part",
    "Path",
    "Query",
    "Step",
    "Term",
    "matches",
    "parse",
    "tags_of",
]
