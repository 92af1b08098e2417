"""The version, said once: the build and ``heterophily.__version__`` both read it here."""

__version__ = "0.1.0"
