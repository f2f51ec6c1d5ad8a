"""Count the rows of the reproduced table 1 whose 95 % interval is below the paper's figure."""

import json
from pathlib import Path

results = json.loads(Path("benchmarks/papers/results/morse.json").read_text("utf-8"))
rows = next(table["rows"] for table in results["tables"] if table["id"] == "pulsar")
for variant in dict.fromkeys(row["variant"] for row in rows):
    above = [row["paper"] > row["after_high"] for row in rows if row["variant"] == variant and row["paper"]]
    print(f"{variant}: below in {sum(above)} of {len(above)} rows")
