"""What is to be read on each page: one module per algorithm, and one for each page that asks about all of them."""

from types import MappingProxyType, ModuleType

from dpviz.stories import (
    audit_reading,
    compare_reading,
    convergent_kmeans_reading,
    dpm_reading,
    morse_reading,
    nd_laplace_reading,
    source_target_reading,
)

CATALOGUE: MappingProxyType[str, ModuleType] = MappingProxyType(
    {
        "convergent_kmeans": convergent_kmeans_reading,
        "dpm": dpm_reading,
        "morse": morse_reading,
        "nd_laplace": nd_laplace_reading,
        "source_target": source_target_reading,
    }
)
QUESTIONS: MappingProxyType[str, ModuleType] = MappingProxyType({"audit": audit_reading, "compare": compare_reading})
