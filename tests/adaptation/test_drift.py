"""New rows against those of the fit: what was not seen before is said, and nothing else."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest

from skatter import adapt
from skatter._formatting import count, duration, join, percent
from skatter.tables import TableError


@pytest.fixture(scope="module")
def frame(require):
    pandas = require("pandas", "table")
    rng = np.random.default_rng(0)
    kind, site = np.tile([0, 1], 60), np.repeat(["here", "there"], 60)
    X = rng.normal(size=(120, 2)) + 3 * kind[:, None]
    return pandas.DataFrame(
        {
            "dose": X[:, 0],
            "pulse": X[:, 1],
            "ward": rng.choice(["x", "y"], 120),
            "share": [f"{share}%" for share in rng.integers(0, 100, 120)],
            "site": site,
            "ill": np.where(site == "here", np.array(["no", "yes"])[kind], None),
        }
    )


@pytest.fixture(scope="module")
def result(frame):
    return adapt(frame, label="ill", domain="site")


def test_rows_like_those_of_the_fit_pass_without_a_word(result, frame):
    assert result.model.drift(frame) == []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result.model.predict(frame)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"ward": "z"},
            "Column 'ward' holds 1 value that the fit has not seen, 'z', in 120",
        ),
        ({"dose": np.nan}, "Empty in every row, and not in the fit: 'dose'"),
        ({"pulse": 99.0}, "Far from the fit, by their mean in standard deviations: 'pulse' (+"),
        ({"site": "mars"}, "site holds 1 new value, 'mars'"),
        (
            {"share": lambda frame: frame["share"].str.rstrip("%").astype(float)},
            "Column 'share' is written without a unit, and with % in the fit: numbers are taken",
        ),
        (
            {"pulse": lambda frame: frame["pulse"].map("{:.2f} bpm".format)},
            "Column 'pulse' is written with bpm, and without a unit in the fit",
        ),
    ],
)
def test_what_the_fit_has_not_seen_is_said_once(result, frame, change, said):
    found = result.model.drift(frame.assign(**change))
    assert len(found) == 1
    assert found[0].startswith(said)
    with pytest.warns(UserWarning, match="the fit|mars"):
        result.model.predict(frame.assign(**change))


def test_all_missing_columns_are_named_at_once(result, frame):
    with pytest.raises(TableError, match="there are no columns 'dose', 'ward'"):
        result.model.predict(frame[["pulse", "share", "site"]])
    with pytest.raises(TableError, match="there is no column 'dose'"):
        result.model.predict(frame[["pulse", "share", "site", "ward"]])


def test_an_adaptation_is_short_in_a_terminal_and_a_table_in_a_notebook(result):
    shipped = f"the {result.ship} model is shipped"
    assert repr(result) == f"<Adaptation: ill predicted for 60 rows, {shipped}>"
    page = result._repr_html_()
    assert len(page) < 10_000
    counts = result.predictions["predicted_ill"].value_counts()
    for name, n in counts.items():
        assert f'<bdi>{name}</bdi></th><td class="number"><bdi>{n}</bdi>' in page


def test_everything_but_table_and_model_is_ready_for_json(result):
    said = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert said["ship"] == result.ship
    assert said["judgement"]["accuracy"]["value"] == result.judgement.accuracy.value
    assert sum(each["rows"] for each in said["predicted"]) == 60
    assert {each["name"] for each in said["columns"]} == {"dose", "pulse", "share", "ward"}


def test_counts_lists_shares_and_times_read_as_people_say_them():
    assert [count(n, "row") for n in (0, 1, 1200)] == ["0 rows", "1 row", "1,200 rows"]
    assert join(list("abcd"), 4) == "a, b, c and d"
    assert [percent(share) for share in (0.005, 0.05, 1)] == ["0.5 %", "5 %", "100 %"]
    assert duration(125) == "2 min 5 s"
