"""Speed against a budget or a peer: `python -m benchmarks`. A benchmark is one function in one of these modules."""
