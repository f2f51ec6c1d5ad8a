"""Teaching: the course, the quiz, the glossary, and plans for a class."""
