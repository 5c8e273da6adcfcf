"""SST (sst-core with Merlin, Firefly, Hermes and Ember): the simulator of the arrangements study of 2017."""

from .adapter import Sst

__all__ = ["Sst"]
