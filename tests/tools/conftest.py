"""Runs for stories, the same as the stories' own runs."""

from tests.stories.conftest import show, tell, tell_dpm, tell_family

__all__ = ["show", "tell", "tell_dpm", "tell_family"]
