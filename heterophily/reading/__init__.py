"""Users' own graphs: files and frames read into a ``Graph``, with the encoding of their columns."""

from heterophily.reading.encoding import Encoding
from heterophily.reading.later import Later, read_later
from heterophily.reading.mistakes import ReadingError
from heterophily.reading.read import Reading, read

__all__ = ["read", "Reading", "read_later", "Later", "Encoding", "ReadingError"]
