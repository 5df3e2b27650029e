"""Collections go to the backend that registered for them, and errors name the part they are in."""

import numpy as np
import pytest

from skatter import SCA, make_domain_pipeline
from skatter import _out_of_core as out_of_core
from skatter._out_of_core import Backend, Place, backend_of, register_backend


class Lake:
    """A collection of a package that skatter has never heard of."""


Lake.__module__ = "lake.collections"


@pytest.fixture
def calls(monkeypatch):
    """What a backend for lakes is asked to do."""
    monkeypatch.setattr(out_of_core, "_BACKENDS", dict(out_of_core._BACKENDS))
    made = []
    named = {
        name: lambda *given, name=name, **more: made.append((name, given, more)) or name
        for name in ("fit", "apply", "total")
    }
    register_backend("lake", Backend(**named))
    return made


def test_samples_in_memory_have_no_backend_and_dask_has_one_without_being_imported():
    assert backend_of(np.zeros((2, 2))) is None
    dask_like = type("Array", (), {"__module__": "dask.array.core"})
    assert backend_of(dask_like()) is not None


@pytest.mark.parametrize("model", [SCA(), make_domain_pipeline(SCA())], ids=["sca", "pipeline"])
def test_estimators_hand_a_collection_to_its_backend(calls, model):
    lake = Lake()
    assert model.fit(lake, [0], sample_domain=["a"]) == "fit"
    assert calls[0] == ("fit", (model, lake, [0]), {"sample_domain": ["a"], "labelled": None})
    assert model.transform(lake) == "apply"
    assert calls[1][1] == (model, "transform", lake)


X = np.array([[0.0, 0.0], [1.0, np.inf]])


@pytest.mark.parametrize("kind", [TypeError, ValueError])
@pytest.mark.parametrize(
    ("place", "text", "named"),
    [
        (Place("Chunk", 7, 1000, 2), "no", "Chunk 7 (rows 1,000 to 1,001, counted from 0): no"),
        (
            Place("Chunk", 7, 1000, 2),
            "X contains infinity",
            "Chunk 7 (rows 1,000 to 1,001, counted from 0), row 1,001: X contains infinity",
        ),
        (Place("Block", 2, None, None), "X contains NaN", "Block 2: X contains NaN"),
    ],
    ids=["part", "row", "unknown"],
)
def test_an_error_keeps_its_kind_and_names_the_part_and_the_bad_row(kind, place, text, named):
    with pytest.raises(kind) as caught, place.named(X):
        raise kind(text)
    assert str(caught.value) == named
