"""The pages of the course, the quiz, the glossary and the teachers."""
