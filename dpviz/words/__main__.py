"""Write the list of all texts, or bring a translation up to date: python -m dpviz.words [language]."""

import sys

from dpviz.words.catalogue import write
from dpviz.words.loading import SOURCE


def main() -> None:
    """Write the file of the language that was named, and say what is new in it and what has gone."""
    language = sys.argv[1] if len(sys.argv) > 1 else SOURCE
    new, gone = write(language)
    for sign, texts in (("+", new), ("-", gone)):
        for text in texts:
            print(sign, text)
    print(f"{language}: {len(new)} new, {len(gone)} gone.")


if __name__ == "__main__":
    main()
