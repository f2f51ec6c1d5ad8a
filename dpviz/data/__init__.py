"""Named data sets with their public boxes, and uploads."""

from dpviz.core import BLOCK_ROWS, ArrayChunks, Chunks, as_chunks, trusting
from dpviz.data.chunks import FrameChunks, ParquetChunks, WorkerChunks, chunks_of, sample_of
from dpviz.data.confined import get_ready, read_confined, read_outlines
from dpviz.data.dataset import NEUTRAL, Dataset, Ground, Image, Nouns, Outline
from dpviz.data.files import MAX_BYTES, MAX_COLUMNS, MAX_ROWS, TableError, TableFormat, TableWarning
from dpviz.data.gallery import DATASETS, SizeLimits, data_knobs, known_groups, load, size_limits, subsample
from dpviz.data.table import Choices, Missing, Scaling, Table, Unlisted, read_table
from dpviz.data.transforms import Bounds, Clipping, RandomProjection

__all__ = [
    "BLOCK_ROWS",
    "DATASETS",
    "MAX_BYTES",
    "MAX_COLUMNS",
    "MAX_ROWS",
    "NEUTRAL",
    "ArrayChunks",
    "Bounds",
    "Choices",
    "Chunks",
    "Clipping",
    "Dataset",
    "FrameChunks",
    "Ground",
    "Image",
    "Missing",
    "Nouns",
    "Outline",
    "ParquetChunks",
    "RandomProjection",
    "Scaling",
    "SizeLimits",
    "Table",
    "TableError",
    "TableFormat",
    "TableWarning",
    "Unlisted",
    "WorkerChunks",
    "as_chunks",
    "chunks_of",
    "data_knobs",
    "get_ready",
    "known_groups",
    "load",
    "read_confined",
    "read_outlines",
    "read_table",
    "sample_of",
    "size_limits",
    "subsample",
    "trusting",
]
