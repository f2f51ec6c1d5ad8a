"""Views, facts, charts, labels, spending and words that the stories of all methods share."""

from dpviz.stories.panel import Fact, Sentence
from dpviz.stories.view import View, Words

__all__ = ["Fact", "Sentence", "View", "Words"]
