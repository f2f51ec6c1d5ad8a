"""Morse processing of private mixtures (Byun, Choi & Lee, "Improving the Utility of Differentially Private Clustering"""

from dpviz.methods.morse import algorithm, story

__all__ = ["algorithm", "story"]
