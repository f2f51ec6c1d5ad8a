"""DPM: clustering through separation (Liebenow et al., "DPM: Clustering Sensitive Data through Separation")."""

from dpviz.methods.dpm import algorithm, story

__all__ = ["algorithm", "story"]
