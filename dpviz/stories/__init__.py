"""What every method's story shares: views, facts, charts, labels, ledgers and words."""

from dpviz.stories.panel import Fact, Sentence
from dpviz.stories.view import View, Words

__all__ = ["Fact", "Sentence", "View", "Words"]
