"""dpviz: see what differential privacy does to clustering."""

import os

__version__ = "0.1.0"

if language := os.environ.get("DPVIZ_LANGUAGE"):  # before any other module is loaded
    from dpviz.words.loading import install

    install(language)
