"""What is to be read on each page: one module per algorithm, and one for each page that asks about all of them."""

from types import MappingProxyType, ModuleType

from dpviz.methods.convergent_kmeans.story import reading as convergent_kmeans_reading
from dpviz.methods.dpm.story import reading as dpm_reading
from dpviz.methods.morse.story import reading as morse_reading
from dpviz.methods.nd_laplace.story import reading as nd_laplace_reading
from dpviz.methods.source_target.story import reading as source_target_reading
from dpviz.tools.audit.story import reading as audit_reading
from dpviz.tools.compare.story import reading as compare_reading

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
