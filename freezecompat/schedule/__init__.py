"""Freezing and thawing in time: what is due when (numpy alone), and the object that acts on it in a training."""

from .schedule import Schedule

__all__ = ["Schedule"]
