"""Real deployments of differential privacy, as marks on the slider: value, short name, unit and model.

From the deployments' own documentation, as collected in Desfontaines' list of real-world uses. A mark is a landmark,
not a recommendation: the same number means something else for another unit of privacy, model or accounting.
"""

DEPLOYMENTS: tuple[tuple[float, str, str], ...] = (
    (
        2.64,
        "Google mobility reports",
        "Google Community Mobility Reports: ε = 2.64 for each person and day, central model.",
    ),
    (4.0, "Apple emoji", "Apple emoji suggestions: ε = 4 for each person and day, local model."),
    (8.0, "Apple lookup hints", "Apple lookup hints: ε = 8 for each person and day, local model."),
    (
        17.14,
        "US census 2020",
        "2020 US Census, redistricting files: ε = 17.14 with δ = 10⁻¹⁰ for each person, central model.",
    ),
)
