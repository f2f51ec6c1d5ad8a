"""One thread for sums that must have the same bits wherever they are made."""

from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # it ships no types


@contextmanager
def one_thread() -> Iterator[None]:
    """Have matrix products and scikit-learn add up on one thread meanwhile: the sums of several have no fixed order.

    scikit-learn is loaded first, because only what is loaded can be limited.
    """
    import sklearn.cluster  # type: ignore[import-untyped]  # noqa: F401  # it ships no types

    with threadpool_limits(1):
        yield
