"""HDP, the paper; files in the order of Algorithm 1, each importing only files before it."""

from heterophily.hdp.algorithm import hdp
from heterophily.hdp.config import ABLATIONS, HDPConfig, HDPDirectedConfig
from heterophily.hdp.model import HDP

__all__ = ["ABLATIONS", "HDP", "HDPConfig", "HDPDirectedConfig", "hdp"]
