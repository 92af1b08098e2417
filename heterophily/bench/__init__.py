"""What is done with models: evaluation on splits, and what is kept of it."""

from heterophily.bench.protocol import Evaluation, SplitScore, evaluate

__all__ = ["Evaluation", "SplitScore", "evaluate"]
