"""Answers about arrays that nobody can change, kept as long as their array lives."""

import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

P = ParamSpec("P")
Answer = TypeVar("Answer")


def remembering(
    most: int,
) -> Callable[[Callable[Concatenate[NDArray[Any], P], Answer]], Callable[Concatenate[NDArray[Any], P], Answer]]:
    """Remember a function's last `most` answers about read-only arrays; the other arguments are hashable.

    An array is known again by being the same object, so that looking it up costs nothing; its answers go with it. An
    array that somebody could write to is answered anew. Answers are shared: they must be read-only, too.
    """

    def decorate(function: Callable[..., Answer]) -> Callable[..., Answer]:
        kept: OrderedDict[tuple[Hashable, ...], tuple[weakref.ref[NDArray[Any]], Answer]] = OrderedDict()
        lock = threading.Lock()

        @wraps(function)
        def answer(array: NDArray[Any], *others: Hashable) -> Answer:
            if not _unchanging(array):
                return function(array, *others)
            key = (id(array), *others)
            with lock:
                known = kept.get(key)
                if known is not None and known[0]() is array:
                    kept.move_to_end(key)
                    return known[1]
            made = function(array, *others)

            def forget(gone: weakref.ref[NDArray[Any]]) -> None:
                # No lock where the garbage collector may call: one removal is a single step of the interpreter.
                entry = kept.get(key)
                if entry is not None and entry[0] is gone:
                    kept.pop(key, None)

            with lock:
                kept[key] = (weakref.ref(array, forget), made)
                while len(kept) > most:
                    kept.popitem(last=False)
            return made

        return answer

    return decorate


def _unchanging(array: NDArray[Any]) -> bool:
    """Whether the array owns its memory and is read-only: a view's owner could be written to."""
    return type(array) is np.ndarray and array.base is None and not array.flags.writeable
