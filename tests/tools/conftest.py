"""Runs to tell stories about are the same as the stories' own."""

from tests.stories.conftest import show, show_dpm, show_family, tell, tell_dpm, tell_family

__all__ = ["show", "show_dpm", "show_family", "tell", "tell_dpm", "tell_family"]
