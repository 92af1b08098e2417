"""Studies of what HDP does: the paper's Table 3 and Figures 1b and 4 to 7, and some beyond it.

Each file holds one: ``study(graph, plan)`` trains all its runs together and returns plain numbers, which
`heterophily.plot` draws.
"""

from heterophily.studies.plan import Plan, Trial
from heterophily.studies.registry import FITTED, STUDIES, find_study, from_json, read, unbundle
from heterophily.studies.result import Result, StudyError

__all__ = [
    "FITTED",
    "STUDIES",
    "Plan",
    "Result",
    "StudyError",
    "Trial",
    "find_study",
    "from_json",
    "read",
    "unbundle",
]
