"""Cells as people write them: percentages, money, dates, and what stands for missing."""

import datetime
import io
import warnings
import zipfile

import numpy as np
import pandas as pd
import pytest

from skatter import adapt
from skatter.saving import load_model, save_model
from skatter.tables import (
    TableError,
    align_columns,
    describe_columns,
    leave_out_unseen,
    make_preprocessor,
    mark_missing,
    open_table,
    read_columns,
    read_table,
    to_numbers,
)
from skatter.tables._dates import PARTS
from skatter.tables._task import read_task

pytestmark = pytest.mark.usefixtures("few_trees")


def plan_of(values, **options):
    return describe_columns(pd.DataFrame({"x": values}), **options)[0]


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["45%", "3 %", "-0.5%"], [45, 3, -0.5]),
        (["$1,234.00", "$5", "-$2.50"], [1234, 5, -2.5]),
        (["1.234,50 €", "5 €", "1.000 €"], [1234.5, 5, 1000]),
        (["CHF 1'234.50", "CHF 2", "CHF .5"], [1234.5, 2, 0.5]),
        (["1,234,567", "12", "1,000"], [1234567, 12, 1000]),
        (["1\u00a0234,5", "7", "0,25"], [1234.5, 7, 0.25]),
        (["(1,234)", "($5.00)", "12"], [-1234, -5, 12]),
        (["€1.234,00", "€5", "-€0,50"], [1234, 5, -0.5]),
        (["70.1 kg", "68kg", "1,070 kg"], [70.1, 68, 1070]),
        (["37.2°C", "-4 °C", "1e3 °C"], [37.2, -4, 1000]),
        (["5.2 mmol/l", "6 mmol/l", "0 mmol/l"], [5.2, 6, 0]),
    ],
)
def test_numbers_with_units_and_groups_are_numbers(cells, numbers):
    X = pd.DataFrame({"x": [*cells, None]})
    assert describe_columns(X)[0].kind.startswith("number")
    step = make_preprocessor(X)
    assert align_columns(X, step)["x"].tolist()[:3] == numbers
    # The mark of the fraction is that of the fit, whatever other rows hold.
    again = align_columns(X.iloc[[2]], step.fit(align_columns(X, step)))
    assert again["x"].tolist() == numbers[2:]


@pytest.mark.parametrize(
    "cells",
    [
        ["$5", "€6", "$7"],
        ["45%", "0.45", "3%"],
        ["1", "2", "x"],
        ["5 kg", "11 lb", "7 kg"],
        ["12", "13a", "14"],
        ["12A", "13A", "14A"],
        ["1 room", "2 rooms", "3 rooms"],
    ],
)
def test_units_that_nobody_should_add_up_stay_text(cells):
    assert plan_of(cells * 3).kind == "category"


@pytest.mark.parametrize(
    ("cells", "why"),
    [
        ([*(f"{n}.5" for n in range(30)), *["n.d."] * 10], "numbers among texts such as 'n.d.'"),
        ([*(f"{n} kg" for n in range(30)), *["7 lb"] * 10], "numbers of several units"),
        ([f"person {n}" for n in range(40)], "40 different texts in 40 rows: an id or free text"),
    ],
    ids=["a word", "units", "names"],
)
def test_why_a_column_of_text_is_left_out_is_said(cells, why):
    plan = plan_of(cells)
    assert not plan.used
    assert plan.why.startswith(why)


def test_a_few_cells_that_are_no_numbers_are_named():
    with pytest.raises(TableError, match=r"'n/a\?' in row 30; leave.*--na-values"):
        plan_of([*(f"${n}" for n in range(29)), "n/a?"])


@pytest.mark.parametrize(
    "write",
    [
        str,
        lambda day: day.strftime("%d.%m.%Y"),
        lambda day: f"{day}T12:00:00Z",
        lambda day: f"{day}T12:00:00+02:00",
        lambda day: day.strftime("%Y/%m/%d"),
        lambda day: day.strftime("%d/%m/%Y"),
        lambda day: day.strftime("%m/%d/%Y 1:30 PM"),
        lambda day: day.strftime("%d-%m-%Y 13:30"),
        lambda day: day.strftime("%d %b %Y"),
        lambda day: day.strftime("%d-%b-%Y").upper(),
        lambda day: day.strftime("%B %d, %Y"),
    ],
    ids=range(11),
)
def test_dates_become_year_month_weekday_and_days(write, tmp_path):
    days = [datetime.date(2020, 2, 28) + datetime.timedelta(37 * n) for n in range(30)]
    X = pd.DataFrame({"when": [*map(write, days), None], "x": np.arange(31.0) ** 2})
    assert describe_columns(X)[0].kind.startswith("date")
    step = make_preprocessor(X)
    step.fit(align_columns(X, step))
    assert [f"when_{part}" for part in PARTS] == list(step.get_feature_names_out())[1:]
    found = to_numbers(X, step)[0][:30, 1:]
    slow = np.array([[d.year, d.month, d.weekday(), d.toordinal()] for d in days], dtype=float)
    whole = np.vstack([slow, np.median(slow, axis=0)])  # the gap gets the parts of a median day
    assert np.corrcoef(found[:, 3], slow[:, 3])[0, 1] > 1 - 1e-9
    for part in range(3):
        order = np.argsort(slow[:, part], kind="stable")
        assert (np.diff(found[order, part]) >= -1e-9).all()
        assert len(np.unique(found[:, part].round(9))) == len(np.unique(whole[:30, part]))
    again = load_model(save_model(step, tmp_path / "step"))
    assert (
        again.transform(align_columns(X, again)) == step.transform(align_columns(X, step))
    ).all()


@pytest.mark.parametrize(
    "cells",
    [
        ["01/02/2024", "03/04/2024", "05/06/2024"],
        ["13/02/2024", "02/13/2024", "05/06/2024"],
        ["13/02/24", "14/02/24", "05/06/24"],
    ],
    ids=["either order", "both orders", "short years"],
)
def test_dates_that_could_be_read_two_ways_are_left_out(cells):
    plan = plan_of(cells)
    assert not plan.used
    assert "2024-12-31" in plan.why


def test_the_order_of_day_and_month_is_that_of_the_fit(tmp_path):
    X = pd.DataFrame({"uk": ["31/01/2024", "02/01/2024"], "us": ["01/31/2024", "01/02/2024"]})
    step = make_preprocessor(X)
    step.fit(align_columns(X, step))
    again = align_columns(X[1:], load_model(save_model(step, tmp_path / "step")))
    second_of_january = (datetime.date(2024, 1, 2) - datetime.date(1970, 1, 1)).days
    assert again.to_numpy().tolist() == [[second_of_january] * 2]
    with pytest.raises(TableError, match="'01/31/2024' in row 1 is no date"):
        align_columns(X.assign(uk=X["us"]), step)


def test_a_word_among_many_dates_is_named():
    days = [f"2024-{month:02}-{day:02}" for month in range(1, 4) for day in range(1, 11)]
    with pytest.raises(TableError, match=r"dates but for 1 of 31 cells, the first 'soon' in row"):
        plan_of([*days, "soon"])


@pytest.mark.parametrize(
    "cells", [["12-34-5678", "98-76-5432"], ["1.2.3", "1.10.0"], ["22:20", "09:15"]]
)
def test_what_only_looks_a_little_like_a_date_is_text(cells):
    assert plan_of(cells * 5).kind == "category"


def test_blanks_around_a_category_do_not_count():
    X = pd.DataFrame({"x": [" yes", "no ", "yes", "no"]})
    step = make_preprocessor(X)
    step.fit(align_columns(X, step))
    assert step.get_feature_names_out().tolist() == ["x_no", "x_yes"]


def test_cells_are_read_by_their_place_where_names_of_rows_come_twice():
    X = pd.DataFrame({"x": ["1", "$2", "3", "$4"], "when": ["2024-01-01", "3 May 2024"] * 2})
    twice = X.set_axis([0, 0, 1, 1])
    step = make_preprocessor(X)
    assert align_columns(twice, step).to_numpy().tolist() == align_columns(X, step).values.tolist()


def test_a_date_that_is_none_is_named():
    with pytest.raises(TableError, match="'2024-13-45' in row 2"):
        plan_of(["2024-01-01", "2024-13-45"] + ["2024-01-02"] * 5)


def test_numbers_that_are_codes_are_categories_where_it_is_said():
    assert plan_of([1.5, 2, 3] * 10, categorical=["x"]).kind == "category"
    with pytest.raises(TableError, match=r"categorical: there is no column 'X'; did you mean 'x'"):
        plan_of([1, 2], categorical=["X"])


def test_errors_of_spreadsheets_are_missing(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b\n#DIV/0!,1\n2.5,#REF!\n#N/A,3\n")
    assert read_table(path).fillna(-1).to_numpy().tolist() == [[-1, 1], [2.5, -1], [-1, 3]]


def test_what_stands_for_missing_is_missing_in_text_and_numbers(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("dose,age,name\n?,31,a\n1.5, -99,?\n2,40,unknown\n")
    frame = read_table(path, na_values=["?", "-99", "unknown"])
    assert frame["dose"].tolist()[1:] == [1.5, 2]
    assert frame.isna().to_numpy().tolist() == [[1, 0, 0], [0, 1, 1], [0, 0, 1]]
    with open_table(path, na_values=["?"]) as table:
        table.write_with(pd.DataFrame({"new": [1, 2, 3]}), tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_text().startswith("dose,age,name,new\n?,31,a,1\n1.5, -99,?,2")
    with pytest.raises(TypeError, match="collection of texts"):
        mark_missing(frame, "?")


# --- labels ---------------------------------------------------------------------------------------


def labels(values):
    frame = pd.DataFrame({"x": np.arange(len(values)), "y": values})
    return read_columns(frame, label="y", domain=None)


def test_blanks_around_a_label_do_not_count_and_blank_labels_are_missing():
    samples = labels([" yes", "no ", "yes", "", "  "])
    assert samples.y.tolist() == ["yes", "no", "yes", None, None]
    assert samples.labelled.tolist() == [True, True, True, False, False]


def test_labels_that_differ_in_case_alone_are_refused_and_listed():
    with pytest.raises(TableError, match="'YES', 'yes' of column 'y' differ in their case alone"):
        labels(["yes", "YES", "no", None])
    assert labels(["a", "A", None]).y.tolist() == ["a", "A", None]
    frame = pd.DataFrame({"x": range(3), "site": ["North ", "north", "south"]})
    with pytest.raises(TableError, match="domain: 'North', 'north' of column 'site' differ"):
        read_columns(frame, label=None, domain="site")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_categories_that_differ_in_case_alone_are_pointed_out():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"x": rng.normal(size=80), "smokes": np.tile(["Yes", "yes", "no"], 27)[:80]}
    )
    frame["y"] = np.where(np.arange(80) < 50, np.where(frame["x"] > 0, "up", "down"), None)
    with pytest.warns(UserWarning, match=r"'smokes': 'Yes', 'yes' differ in their case alone"):
        adapt(frame, label="y", method="sca")


def test_values_are_listed_where_every_row_has_a_label():
    with pytest.raises(TableError, match=r"It holds '\?', 'no', 'yes'; .*--na-values"):
        read_task(labels(["?", "?", "?", "no", "no", "yes"]), None)


def test_dates_as_labels_are_refused():
    with pytest.raises(TableError, match="holds dates such as 2024-01-01"):
        read_task(labels(["2024-01-01", "2024-01-02", "3 May 2024", None] * 2), None)


def test_a_class_of_one_row_is_refused_by_name():
    with pytest.raises(TableError, match="a single row of 'maybe'"):
        read_task(labels(["yes", "no", "yes", "no", "maybe", None]), None)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_label_that_may_stand_for_a_missing_one_is_pointed_out():
    rng = np.random.default_rng(0)
    y = np.tile(["yes", "no"], 40)
    frame = pd.DataFrame({"x": rng.normal(size=80) + 2 * (y == "yes"), "y": y})
    frame.loc[50:, "y"] = None
    frame.loc[60:69, "y"] = "Unknown"
    with pytest.warns(UserWarning, match=r"'Unknown' in column 'y' is taken for a class: if it"):
        adapt(frame, label="y")
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        result = adapt(frame, label="y", na_values=["Unknown"])
    assert result.settings["n_labelled"] == 50


@pytest.mark.parametrize(
    ("cells", "task", "unit"),
    [
        (["10%", "20%", "30%"] * 8, "classes", ""),
        ([f"{v}%" for v in range(30)] * 4, "numbers", "%"),
        ([f"{v / 4:.2f} %" for v in range(3, 18)], "numbers", "%"),
        ([f"${v * 999:,}" for v in range(40)], "numbers", "$"),
    ],
    ids=["few whole ones", "many whole ones", "fractions", "money"],
)
def test_a_unit_says_that_labels_are_numbers_unless_they_are_few(cells, task, unit):
    samples, found = read_task(labels([*cells, None]), None)
    assert (found, samples.unit) == (task, unit)


def test_an_age_as_the_label_is_a_number_or_asked_about():
    ages = [*range(20, 90), *range(30, 50), None]
    assert read_task(labels(ages), None)[1] == "numbers"
    with pytest.raises(TableError, match="classes or numbers"):
        read_task(labels([*range(20, 50)] * 4 + [None]), None)


# --- columns that cannot help ---------------------------------------------------------------------


def unseen(column, y=("a", "b", "a", "b", None, None)):
    X = pd.DataFrame({"code": column})
    y = np.array(y, dtype=object)
    labelled = np.array([each is not None for each in y])
    return leave_out_unseen(describe_columns(X), X, y, labelled)[0]


def test_a_column_that_is_filled_only_where_the_label_is_is_left_out_in_words():
    leak = unseen(["1a", "2b", "1a", "2b", None, None])
    assert not leak.used
    assert leak.why == "empty in every row to predict, and gives the label away in the others"
    assert unseen(["u", "u", "v", "v", None, " "]).why == "empty in every row to predict"
    assert unseen(["u", "u", "v", "v", None, "u"]).used


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_column_that_gives_the_label_away_in_every_row_is_pointed_out():
    rng = np.random.default_rng(0)
    y, labelled = np.tile(["sick", "well"], 40), np.arange(80) < 50
    frame = pd.DataFrame({"x": rng.normal(size=80), "y": np.where(labelled, y, None)})
    frame["code"] = np.where(y == "sick", rng.choice(["D1", "D2"], 80), "D0")
    with pytest.warns(UserWarning, match=r"'code' gives the label away in every row that has one"):
        adapt(frame, label="y", method="sca")
    frame.loc[0, "code"] = "D0"
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        adapt(frame, label="y", method="sca")


def test_dates_of_another_time_are_left_out_in_words():
    early, late = ["2020-01-01", "2020-02-01"], ["2021-01-01", "2021-05-01"]
    assert "of the time" in unseen([*early, *early, *late]).why
    assert unseen([*early, *late, *early]).used


# --- workbooks ------------------------------------------------------------------------------------


def workbook(path, rows):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)
    return path


def test_a_workbook_is_read_and_carried_as_the_csv_of_its_sheet(tmp_path):
    rows = [
        ["id", "dose", "when", "kind"],
        ["0001", 1.5, datetime.datetime(2024, 1, 31), "=a"],
        ["0002", None, None, "b, c"],
        ["0003", 2, datetime.datetime(2024, 2, 1, 12, 30), True],
    ]
    path = workbook(tmp_path / "a.xlsx", [*rows, [None] * 4])
    frame = read_table(path)
    assert frame["dose"].tolist()[::2] == [1.5, 2.0]
    assert frame["when"].tolist()[::2] == ["2024-01-31", "2024-02-01 12:30:00"]
    with open_table(path) as table:
        table.write_with(pd.DataFrame({"new": [1, 2, 3]}), tmp_path / "b.csv")
    first = (tmp_path / "b.csv").read_text().splitlines()
    assert first[:2] == ["id,dose,when,kind,new", "0001,1.5,2024-01-31,,1"]  # no value was saved
    assert read_table(io.BytesIO(path.read_bytes())).equals(frame)


def test_sheets_that_are_not_read_are_named(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["note"])
    book.active.append(["made by hand"])
    book.create_sheet("Data").append(["a", "b"])
    book.save(tmp_path / "a.xlsx")
    with pytest.warns(UserWarning, match="only its first sheet is read, 'Sheet', and not 'Data'"):
        assert list(read_table(tmp_path / "a.xlsx")) == ["note"]


@pytest.mark.parametrize("harm", ["entities", "zeros", "truncated", "far cell"])
def test_a_workbook_that_is_made_to_do_harm_is_refused(tmp_path, harm):
    good = workbook(tmp_path / "good.xlsx", [["a", "b"], [1, 2]])
    path, sheet = tmp_path / "bad.xlsx", "xl/worksheets/sheet1.xml"
    with zipfile.ZipFile(good) as old:
        members = {name: old.read(name) for name in old.namelist()}
    if harm == "entities":
        members[sheet] = members[sheet].replace(b"<worksheet", b"<!DOCTYPE a []><worksheet", 1)
    elif harm == "zeros":
        members["xl/media/a.bin"] = bytes(300 << 20)
    elif harm == "far cell":
        members[sheet] = members[sheet].replace(b'r="B2"', b'r="XFD2"')
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name, content in members.items():
            new.writestr(name, content)
    if harm == "truncated":
        path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(TableError) as caught:
        read_table(path)
    assert str(caught.value).startswith(str(path))


# --- on the command line --------------------------------------------------------------------------


def test_commands_take_what_stands_for_missing_and_what_is_a_code(tmp_path):
    testing = pytest.importorskip("typer.testing")
    from skatter.cli import build_app

    rng = np.random.default_rng(0)
    kind, here = np.tile(["lo", "hi"], 30), np.repeat([True, False], 30)
    frame = pd.DataFrame({"dose": rng.normal(size=60) + 3 * (kind == "hi")}).round(3).astype(str)
    frame.loc[5, "dose"] = "?"
    frame["share"] = [f"{n}%" for n in rng.integers(0, 99, 60)]
    frame["ward"], frame["site"] = rng.integers(1, 4, 60), np.where(here, "here", "there")
    frame["code"] = np.where(here, np.where(kind == "lo", "L", "H"), "")
    frame["kind"] = np.where(here, kind, "?")
    path, out = tmp_path / "a.csv", tmp_path / "out.csv"
    frame.to_csv(path, index=False)
    options = ["--label", "kind", "--domain", "site", "--categorical", "ward"]
    app, run = build_app(), testing.CliRunner().invoke
    refused = run(app, ["adapt", str(path), *options, "--out", str(out)])
    assert refused.exit_code == 1
    assert "It holds '?', 'lo', 'hi'" in refused.output
    options += ["--na-values", "?"]
    done = run(app, ["adapt", str(path), *options, "--method", "sca", "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert "column 'code' is left out: empty in every row to predict, and gives" in done.output
    found = pd.read_csv(out, dtype=str, keep_default_na=False)
    assert found[frame.columns].equals(frame.astype(str))
    assert (found["predicted_kind"][30:] == kind[30:]).mean() > 0.8
