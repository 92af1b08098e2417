"""Pictures of studies and of fitted models, as matplotlib axes.

    import heterophily

    ax = heterophily.plot.partition(model)  # a fitted HDPClassifier
    ax.figure.savefig("partition.pdf")

Each function takes a result of its study (``heterophily.studies.read(FILE)``) or, where that is enough, a
fitted classifier, and ``ax=`` to draw on; without one it makes a figure of a column's width. ``figure`` puts
all panels of a study together, as ``heterophily study`` does.
"""

from heterophily.show.study_plots import (
    ablation,
    calibration,
    confusion,
    cosines,
    edges,
    homophily,
    information,
    local,
    partition,
    preference,
    rescale,
    tsne,
    updates,
)
from heterophily.show.study_plots import study_figure as figure

__all__ = [
    "ablation",
    "calibration",
    "confusion",
    "cosines",
    "edges",
    "figure",
    "homophily",
    "information",
    "local",
    "partition",
    "preference",
    "rescale",
    "tsne",
    "updates",
]
