"""What the course is made of: chapters of one idea, and those that a method tells."""
