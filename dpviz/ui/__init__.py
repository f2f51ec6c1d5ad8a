"""The pages' parts: live picture, sliders, cards."""
