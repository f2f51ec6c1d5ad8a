"""Runs to tell stories about are the same as the stories' own."""

from tests.stories.conftest import show, tell, tell_dpm, tell_family

__all__ = ["show", "tell", "tell_dpm", "tell_family"]
