"""Private source-target clustering (Schnapp & Sabato, "Differentially Private Source-Target Clustering", TMLR 2025)."""

from dpviz.methods.source_target import algorithm, story

__all__ = ["algorithm", "story"]
