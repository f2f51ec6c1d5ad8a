"""From a file's bytes to columns: which parser takes them. The parsers themselves are loaded with the first file."""

from dataclasses import replace

from dpviz.data.columns import Columns
from dpviz.data.decoding import PARQUET_MAGIC, UPLOADED, ZIP_MAGIC, Limits, decode
from dpviz.data.table_format import READ_OFF, TableFormat


def columns_of(data: bytes, limits: Limits = UPLOADED, reading: TableFormat = READ_OFF) -> Columns:
    """Return the columns of a file's bytes, as `read_table` does, but within `limits`. Raises TableError."""
    # pandas and pyarrow take as long to load as all of the methods do, and most processes read no file.
    from dpviz.data.geojson import is_json, read_geojson
    from dpviz.data.parquet import read_parquet
    from dpviz.data.parsing import parse
    from dpviz.data.workbook import read_workbook

    if data.startswith(ZIP_MAGIC):
        return read_workbook(data, limits, reading)
    if data.startswith(PARQUET_MAGIC):
        return read_parquet(data, limits, reading)
    text, notes = decode(data, limits)
    columns = read_geojson(text, limits, reading) if is_json(text) else parse(text, limits, reading)
    return replace(columns, notes=(*notes, *columns.notes))


def load_parsers() -> None:
    """Load what `columns_of` leaves until the first file comes."""
    import dpviz.data.geojson
    import dpviz.data.parquet
    import dpviz.data.workbook  # noqa: F401
