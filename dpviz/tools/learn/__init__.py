"""The course: from never having heard of it to explaining ε, one idea on a screen."""
