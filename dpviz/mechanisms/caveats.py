"""What the proofs say nothing about, in words for the card: where numbers are not real ones."""

SUMS_CAVEAT = (
    "With secret noise the proof covers every bit of noisy counts, and of sums of up to 740,000 records: they are "
    "drawn exactly and released on a public grid. Noise from a seed is drawn in floating point, which the proof does "
    "not cover, and a short seed can be searched for from the release."
)
CHOICES_CAVEAT = (
    "Which candidate is chosen is decided in floating point, with secret noise too; the proof is for real numbers."
)
POINTS_CAVEAT = (
    "Records are moved in floating point, with secret noise too: the proof is for real numbers and does not cover the "
    "last bits. A short seed can be searched for from the release."
)
FROM_DATA = "Bounds were taken from the data: not private. No guarantee holds until you type public bounds."
