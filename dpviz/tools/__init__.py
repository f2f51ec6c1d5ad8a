"""What goes across methods: each tool knows methods by their records alone."""

from dpviz.stories.method import Page


def pages() -> dict[str, Page]:
    """Return the tools with a page of their own, by its name; others are parts of the methods' pages."""
    from dpviz.tools.audit.page import PAGE as AUDIT
    from dpviz.tools.compare.page import PAGE as COMPARE
    from dpviz.tools.glossary.page import PAGE as GLOSSARY
    from dpviz.tools.learn.page import PAGE as LEARN
    from dpviz.tools.quiz.page import PAGE as QUIZ
    from dpviz.tools.teach.page import PAGE as TEACH

    return {"learn": LEARN, "compare": COMPARE, "audit": AUDIT, "glossary": GLOSSARY, "quiz": QUIZ, "teach": TEACH}
