"""The report: all tables and figures of a folder of results, on one page for a browser."""

from heterophily.show.report.contents import ReportError
from heterophily.show.report.page import report

__all__ = ["ReportError", "report"]
