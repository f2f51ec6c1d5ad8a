"""Run scripts of dpviz/assets in Node.js, for tests that compare them with Python."""

import json
import subprocess
from collections.abc import Sequence
from typing import Any

from dpviz.assets import FOLDER
from tests.prepare import find_node

TIMEOUT_S = 60


def run_module(source: str, *arguments: Any) -> Any:
    """Return the resolved value of `run(...arguments)`, a function that the module `source` exports."""
    script = (
        f"const address = 'data:text/javascript,' + encodeURIComponent({json.dumps(source)});"
        "const { run } = await import(address);"
        f"console.log(JSON.stringify(await run(...{json.dumps(arguments)})));"
    )
    command = [find_node(), "--input-type=module", "-"]
    done = subprocess.run(command, input=script, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def evaluate(scripts: Sequence[str], body: str, *arguments: Any) -> Any:
    """Run the body of a function of (live, a, b); `live` has all that the scripts export."""
    addresses = [(FOLDER / f"{name}.js").as_uri() for name in scripts]
    source = (
        f"const modules = await Promise.all({json.dumps(addresses)}.map((address) => import(address)));"
        f"const live = Object.assign({{}}, ...modules); export const run = async (a, b) => {{ {body} }};"
    )
    return run_module(source, *arguments)
