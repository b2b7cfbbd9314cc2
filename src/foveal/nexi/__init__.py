"""The query language of INEX: parser, printer and matcher."""

from foveal.nexi.matching import IEEE_CLASSES, list_tags, matches
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
    "list_tags",
    "matches",
    "parse",
]
