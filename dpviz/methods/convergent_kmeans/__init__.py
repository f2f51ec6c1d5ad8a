"""Convergent DP k-means (Lu & Shen, "Differentially Private k-Means Clustering with Guaranteed Convergence")."""

from dpviz.methods.convergent_kmeans import algorithm, story

__all__ = ["algorithm", "story"]
