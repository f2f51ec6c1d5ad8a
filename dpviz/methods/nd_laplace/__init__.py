"""nD-Laplace: every record is moved by its owner before anybody sees it, and clusters are found afterwards (van der"""

from dpviz.methods.nd_laplace import algorithm, story

__all__ = ["algorithm", "story"]
