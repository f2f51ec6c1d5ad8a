"""Runs for tests of stories, the same for every method."""

from tests.stories.conftest import options, show, tell, tell_dpm, tell_family

__all__ = ["options", "show", "tell", "tell_dpm", "tell_family"]
