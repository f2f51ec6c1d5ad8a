"""Scripts, styles and small tables that the package reads; an installed package has them as well."""

from importlib.resources import files
from pathlib import Path

FOLDER = Path(str(files(__name__)))
