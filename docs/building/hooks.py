"""MkDocs hooks that add pages made from records and docstrings to the hand-written pages."""

from pathlib import Path

from markdown import Markdown
from markdown.extensions import Extension
from markdown.preprocessors import Preprocessor
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from docs.building import errata, gallery, methods, reference
from dpviz.methods import CATALOGUE

ORDER = ("Start", "Tutorial", "How-to guides", "Methods", "Explanation", "Gallery", "Reference")
ROOT = Path(__file__).resolve().parents[2]
# Files from other folders of the repository: path in the site -> file.
BORROWED = {
    "how-to/serve.md": ROOT / "assets" / "deploy" / "README.md",
    "how-to/contributing.md": ROOT / "CONTRIBUTING.md",
    "icon.png": ROOT / "dpviz" / "assets" / "icon.png",
    "app.png": ROOT / "assets" / "convergent_kmeans.png",
    "app_dark.png": ROOT / "assets" / "convergent_kmeans_dark.png",
}


class SpacedLists(Preprocessor):
    """Preprocessor that lets a list begin right below a paragraph, as in docstrings."""

    def run(self, lines: list[str]) -> list[str]:
        """Return the lines with a blank line above each list."""
        return methods.spaced(lines)


class DocstringLists(Extension):
    """Markdown extension that applies `SpacedLists` to every page and docstring."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 - Markdown's own name
        """Register the preprocessor after the step that takes out code."""
        md.preprocessors.register(SpacedLists(md), "spaced-lists", 5)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Add the generated pages to the navigation."""
    config.markdown_extensions.append(DocstringLists())
    written = {title: part for each in config.nav for title, part in each.items()}
    written["How-to guides"] += [{"Serving others": "how-to/serve.md"}, {"Contributing": "how-to/contributing.md"}]
    written["Methods"] = [{each.title: f"methods/{name}.md"} for name, each in CATALOGUE.items()]
    explained = {"Audit results": "explanation/audits.md", "Errata": "errata.md", "Glossary": "explanation/words.md"}
    written["Explanation"] += [{title: place} for title, place in explained.items()]
    made = [{title: f"reference/{place}.md"} for place, title in reference.PLACES.items()]
    written["Reference"] = [{"A run and its four parts": "run.md"}, *made]
    config.nav = [{title: written[title]} for title in ORDER]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages, their pictures, and the files from other folders."""
    pictures = {each.name: each for each in gallery.pictures()}
    made = {
        "gallery.md": gallery.page([*pictures.values()]),
        "errata.md": errata.page(),
        "explanation/audits.md": methods.audit_table(),
        "explanation/words.md": methods.glossary(),
        **{f"methods/{name}.md": methods.page(each, pictures.get(name)) for name, each in CATALOGUE.items()},
        **{f"reference/{place}.md": reference.page(place, title) for place, title in reference.PLACES.items()},
        **{f"pictures/{name}.svg": each.light for name, each in pictures.items()},
        **{f"pictures/{name}_dark.svg": each.dark for name, each in pictures.items()},
    }
    for place, content in made.items():
        files.append(File.generated(config, place, content=content))
    for place, path in BORROWED.items():
        files.append(File.generated(config, place, abs_src_path=str(path)))
    return files
