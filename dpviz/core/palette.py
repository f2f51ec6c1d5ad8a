"""The colors of clusters, in order: none is taken for the color of a role, and each stands out from its background."""

CLUSTERS_LIGHT = ("#bf4da8", "#255b68", "#907bf8", "#a17003", "#4d6905", "#9f0c54", "#6f4992")
CLUSTERS_DARK = ("#f592fe", "#218196", "#8964df", "#e9d401", "#819808", "#c23870", "#d6907d")
