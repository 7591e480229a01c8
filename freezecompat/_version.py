"""The version of the package, in the one place that setup.py and everything else reads."""

__version__ = "0.1.0"
