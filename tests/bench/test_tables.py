"""Tables say what the outcomes say, beside what the paper says, in five formats."""

from __future__ import annotations

import csv
import html.parser
import io
import math
import re
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from skatter_bench.published import published
from skatter_bench.results import Outcome
from skatter_bench.table import (
    Column,
    Entry,
    Table,
    number,
    to_csv,
    to_html,
    to_latex,
    to_markdown,
    to_terminal,
)
from skatter_bench.views import (
    AVERAGE,
    MEAN_RANK,
    accuracy_table,
    mark,
    matrix_table,
    runtime_table,
    summary_table,
)

NAN = math.nan


def to_text(table, width=80):
    """The table as a terminal without colours shows it."""
    console = Console(file=io.StringIO(), width=width, color_system=None, force_terminal=False)
    with console.capture() as captured:
        console.print(to_terminal(table, width=width, plain=True))
    return "\n".join(line.rstrip() for line in captured.get().split("\n"))


def outcome(method="sca", task="A->W", accuracy=50.0, **changes):
    classifier = changes.pop("classifier", "1nn")
    label = changes.pop("label", f"{method} + {'1NN' if classifier == '1nn' else classifier}")
    plain = Outcome(
        suite="table2",
        task=task,
        group="surf",
        contestant=method,
        classifier=classifier,
        label=label,
        protocol="source-cv",
        seed=0,
        draw=0,
        accuracy=accuracy,
        n_test=published("table2").n_test.get(task, 100),
        setting={},
        selection_score=None,
        seconds=9.0,
        fit_seconds=2.0,
        peak_bytes=None,
    )
    return replace(plain, **changes)


def paper_outcomes(key="table2", names=("raw", "kpca", "tca", "gfk", "sca"), **changes):
    """Outcomes that are the paper's own numbers."""
    paper = published(key)
    return [
        outcome(
            name,
            task,
            paper.value(paper.name_of(name, "1nn"), task),
            **{"suite": key, "n_test": paper.n_test.get(task, 100), **changes},
        )
        for name in names
        for task in paper.tasks
    ]


def notes(table):
    return " ".join(table.notes)


@pytest.fixture(scope="module")
def surf():
    return accuracy_table(paper_outcomes(), published="table2", title="Office+Caltech SURF")


# --- entries ------------------------------------------------------------------------------------


def test_every_entry_is_the_accuracy_of_its_outcome_beside_the_published_one(surf):
    paper = published("table2")
    for name, label in [("Raw", "raw + 1NN"), ("SCA", "sca + 1NN"), ("GFK", "gfk + 1NN")]:
        for task in paper.tasks:
            entry = surf.column(task)[label]
            assert entry.value == entry.published == paper.value(name, task)
    assert [column.name for column in surf.columns] == [*paper.tasks, AVERAGE, MEAN_RANK]


def test_averages_are_means_of_rows_ours_and_the_papers(surf):
    for row in surf.rows:
        values = [entry.value for entry in row.entries[:12]]
        printed = [entry.published for entry in row.entries[:12]]
        assert row.entries[12].value == np.mean(values)
        assert row.entries[12].published == np.mean(printed)
    assert round(surf.column(AVERAGE)["sca + 1NN"].value, 2) == 44.29


def test_mean_ranks_count_who_is_better(surf):
    values = np.array([[entry.value for entry in row.entries[:12]] for row in surf.rows])
    for i, row in enumerate(surf.rows):
        better = (values > values[i]).sum(axis=0)
        equal = (values == values[i]).sum(axis=0) - 1
        assert row.entries[13].value == pytest.approx(np.mean(1 + better + equal / 2))
        assert row.entries[13].published is None


def test_a_part_of_the_tasks_is_compared_with_the_same_part_of_the_paper():
    some = [each for each in paper_outcomes() if each.task in ("A->W", "D->C")]
    table = accuracy_table(some, published="table2")
    assert table.column(AVERAGE)["sca + 1NN"].published == pytest.approx((33.9 + 32.32) / 2)
    assert "the paper prints" not in notes(table)


def test_several_runs_give_mean_and_standard_deviation():
    runs = {"A->W": (40.0, 44.0, 51.0), "A->D": (60.0, 61.0, 65.0)}
    table = accuracy_table(
        outcome("sca", task, accuracy, draw=i)
        for task, accuracies in runs.items()
        for i, accuracy in enumerate(accuracies)
    )
    entry = table.column("A->W")["sca + 1NN"]
    assert entry.value == pytest.approx(45.0)
    assert entry.spread == pytest.approx(math.sqrt((25 + 1 + 36) / 2))
    average = table.column(AVERAGE)["sca + 1NN"]
    assert average.value == pytest.approx(53.5)
    assert average.spread == pytest.approx(np.std([50, 52.5, 58], ddof=1))
    assert "over up to 3 runs" in notes(table)
    assert "45.00 ± 5.57" in to_text(table)


def test_tasks_with_different_runs_have_an_average_without_a_deviation():
    table = accuracy_table([outcome(seed=0), outcome(seed=1), outcome(task="A->D", accuracy=60.0)])
    assert table.column(AVERAGE)["sca + 1NN"] == Entry(55.0)


def test_a_failed_run_leaves_no_number_and_says_why():
    error = "LinAlgError: not positive\ndefinite"
    broken = [
        outcome("gfk", "A->W", NAN, error=error, seed=1),
        outcome("gfk", "A->W", 30.0),
        outcome("gfk", "A->D", 40.0),
    ]
    fine = [outcome(name, task) for name in ("raw", "sca") for task in ("A->W", "A->D")]
    table = accuracy_table([*fine, *broken], published="table2")
    for column in ("A->W", AVERAGE):
        entry = table.column(column)["gfk + 1NN"]
        assert math.isnan(entry.value)
        assert (entry.note, entry.mark, entry.published is None) == ("failed", "", False)
    assert table.column(MEAN_RANK)["gfk + 1NN"].note == "n/a"
    assert table.column(MEAN_RANK)["raw + 1NN"].value == 1.5
    said = "gfk + 1NN failed on A->W in 1 of 2 runs: LinAlgError: not positive definite"
    assert said in table.notes


def test_a_task_that_was_not_run_is_not_a_failure():
    table = accuracy_table([outcome("raw"), outcome("raw", "A->D"), outcome("sca")])
    assert table.column("A->D")["sca + 1NN"] == Entry(note="n/a", reason="Not run.")
    assert table.column(AVERAGE)["sca + 1NN"].note == "n/a"
    assert "failed" not in notes(table)


def test_one_task_needs_no_average():
    table = accuracy_table([outcome("raw", accuracy=40.0), outcome("sca")])
    assert [column.name for column in table.columns] == ["A->W"]


def test_several_groups_show_the_average_of_each_beside_the_published_group():
    group = "Office+Caltech (SURF-BoW)"
    rows = [
        ("raw", "svm", 40.0),
        ("raw", "svm", 50.0),
        ("kpca", "svm", 60.0),
        ("kpca", "svm", 70.0),
    ]
    outcomes = [
        outcome(name, f"task{i % 2}", accuracy, classifier=classifier, group=where)
        for where in (group, "Office+Caltech (DeCAF6)")
        for i, (name, classifier, accuracy) in enumerate(rows)
    ]
    table = accuracy_table(outcomes, published="table4")
    assert [column.name for column in table.columns][:2] == [group, "Office+Caltech (DeCAF6)"]
    assert table.column(group)["raw + svm"] == Entry(45.0, 43.98, "second")
    assert table.column(group)["kpca + svm"] == Entry(65.0, None, "best")
    assert table.column(MEAN_RANK)["kpca + svm"].value == 1.0


# --- marks --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "marks"),
    [
        ([1.0, 2.0, 3.0], ["", "second", "best"]),
        ([3.0, 3.0, 2.0, 1.0], ["best", "best", "second", ""]),
        ([3.0, 2.0, 2.0, 1.0], ["best", "second", "second", ""]),
        ([NAN, 2.0, NAN, 1.0], ["", "best", "", "second"]),
        ([NAN, 2.0], ["", ""]),
        ([NAN, NAN], ["", ""]),
        ([50.001, 50.004, 10.0], ["best", "best", "second"]),
        ([-1.0, -2.0], ["best", "second"]),
        ([], []),
    ],
    ids=["plain", "tie-best", "tie-second", "nan", "alone", "none", "as-printed", "ranks", "empty"],
)
def test_best_and_second_are_marked_and_ties_share(values, marks):
    assert mark(values) == marks


def test_marks_of_a_column_are_its_largest_and_of_ranks_its_smallest(surf):
    for column in surf.columns:
        entries = surf.column(column.name)
        best = min if column.kind == "rank" else max
        extreme = best(entry.value for entry in entries.values())
        marked = [label for label, entry in entries.items() if entry.mark == "best"]
        assert marked == [label for label, entry in entries.items() if entry.value == extreme]


# --- what may stand together --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"protocol": "target-oracle", "seed": 1}, "one protocol, got source-cv, target-oracle"),
        ({"suite": "table3", "seed": 1}, "one suite, got table2, table3"),
        ({}, r"sca \+ 1NN on A->W with seed 0 and draw 0 2 times"),
    ],
    ids=["protocols", "suites", "twice"],
)
def test_outcomes_that_do_not_belong_together_are_refused(changes, words):
    with pytest.raises(ValueError, match=words):
        accuracy_table([outcome(), outcome(**changes)])


def test_an_empty_table_is_refused():
    with pytest.raises(ValueError, match="outcomes are empty"):
        accuracy_table([])


def test_an_oracle_says_so_and_stands_beside_no_honest_number():
    table = accuracy_table(paper_outcomes(protocol="target-oracle"), published="table2")
    assert "oracle" in table.title
    assert "upper bound, not a result" in table.notes[0]
    assert all(entry.published is None for row in table.rows for entry in row.entries)
    assert "The paper chose the settings of its table 2 by source labels" in notes(table)


def test_the_synthetic_figure_of_the_paper_is_an_oracle_itself():
    run = outcome("sca", "source->target", 89.33, suite="figure1", protocol="target-oracle")
    table = accuracy_table([run], published="figure1")
    assert table.column("source->target")["sca + 1NN"].published == 77.0


# --- notes --------------------------------------------------------------------------------------


def test_printed_averages_that_are_wrong_are_named_where_their_method_is_shown(surf):
    assert "the paper prints 35.29 for TCA (35.30)." in notes(surf)
    assert "SSTCA" not in notes(surf)
    assert "table 2" in notes(surf)
    assert "1510.04373" in notes(surf)


def test_other_test_sets_than_the_papers_are_named():
    runs = [outcome("sca", "usps->mnist", suite="table1", n_test=7291)]
    assert "usps->mnist 7,291 (paper 2,000)" in notes(accuracy_table(runs, published="table1"))
    same = [outcome("sca", "usps->mnist", suite="table1", n_test=2000)]
    assert "differ" not in notes(accuracy_table(same, published="table1"))


# --- the other tables ---------------------------------------------------------------------------


def test_times_are_means_over_tasks_and_multiples_of_sca():
    seconds = {"sca": (2.0, 4.0), "tjm": (10.0, 20.0)}
    table = runtime_table(
        (
            outcome(name, f"task{i}", group="MNIST+USPS", suite="table5", fit_seconds=each)
            for name, own in seconds.items()
            for i, each in enumerate(own)
        ),
        published="table5",
    )
    assert table.column("MNIST+USPS")["tjm + 1NN"] == Entry(15.0, 269.44)
    multiple = table.column("MNIST+USPS, × sca")["tjm + 1NN"]
    assert multiple.value == pytest.approx(5.0)
    assert multiple.published == pytest.approx(269.44 / 42.74)
    assert "×5.00 (×6.30)" in to_text(table)


def test_times_over_other_tasks_are_not_compared():
    runs = [outcome("sca", "a"), outcome("sca", "b"), outcome("tjm", "a")]
    table = runtime_table(runs)
    assert table.column("surf")["tjm + 1NN"].note == "n/a"
    assert table.column("surf, × sca")["tjm + 1NN"].note == "n/a"
    failed = runtime_table([outcome("sca"), outcome("tjm", accuracy=NAN, error="MemoryError: ")])
    assert failed.column("surf")["tjm + 1NN"].note == "failed"


def test_times_without_the_reference_have_no_multiples():
    table = runtime_table([outcome("tjm")])
    assert [column.name for column in table.columns] == ["surf"]
    assert "sca is not among the methods" in notes(table)


def test_the_matrix_has_the_margins_of_the_paper():
    runs = paper_outcomes("table6", names=("raw",), protocol="defaults")
    table = matrix_table(runs, published="table6")
    # As printed, but for the mean of C, which its row makes 47.79 and the paper prints as 47.49.
    margins = {
        "V": (72.46, 67.21, 7.25),
        "L": (63.74, 60.54, 5.03),
        "C": (99.53, 47.79, 51.99),
        "S": (68.12, 51.01, 25.12),
        "mean others": (75.96, 56.63, 25.44),
    }
    for row in table.rows:
        ours = [entry.value for entry in row.entries[-3:]]
        assert ours == pytest.approx(margins[row.label], abs=6e-3)
        assert [entry.published for entry in row.entries] == [e.value for e in row.entries]
    below = [entry.value for entry in table.rows[-1].entries[:4]]
    assert below == pytest.approx([53.44, 49.31, 73.19, 50.59], abs=1.01e-2)
    assert "the paper prints 47.49 as mean others of C (47.79)" in notes(table)


def test_a_matrix_with_a_gap_has_no_margins_there():
    table = matrix_table(
        outcome("raw", task, protocol="defaults") for task in ("P->P", "P->S", "S->S")
    )
    assert table.column("P")["S"] == Entry(note="n/a", reason="Not run.")
    assert table.column("mean others")["S"].note == "n/a"
    assert table.column("mean others")["P"].value == 50.0


def test_a_matrix_is_of_one_method_and_of_pairs():
    with pytest.raises(ValueError, match=r"one method, got raw \+ 1NN, sca \+ 1NN"):
        matrix_table([outcome("raw"), outcome("sca")])
    with pytest.raises(ValueError, match="named train->test, got digits"):
        matrix_table([outcome(task="digits")])


def test_the_summary_has_the_average_of_every_suite():
    runs = [*paper_outcomes("table2", ("raw", "sca")), *paper_outcomes("table8", ("raw", "dica"))]
    table = summary_table(runs, published={"table2": "table2", "table8": "table8"})
    assert [column.name for column in table.columns] == ["table2", "table8"]
    assert table.column("table2")["sca + 1NN"].value == published("table2").average("SCA")
    assert table.column("table8")["raw + 1NN"].published == published("table8").average("1NN")
    absent = table.column("table8")["sca + 1NN"]
    assert (absent.note, absent.published) == ("n/a", published("table8").average("SCA"))
    assert table.column("table8")["dica + 1NN"].mark == "best"
    with pytest.raises(ValueError, match="one protocol"):
        summary_table([*runs, outcome(protocol="defaults")], published={})


# --- numbers ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (33.9, "percent", "33.90"),
        (0.001, "percent", "0.00"),
        (100.0, "percent", "100.00"),
        (3072.25, "seconds", "3072.25"),
        (0.0512, "seconds", "0.051"),
        (0.0, "seconds", "0.00"),
        (0.999, "seconds", "1.00"),
        (1e-9, "seconds", "0.000000"),
        (71.88, "times", "×71.88"),
        (0.0175, "times", "×0.018"),
    ],
)
def test_numbers_have_two_decimals_and_small_times_two_digits(value, kind, text):
    assert number(value, kind) == text


# --- terminal -----------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [40, 80, 120, 200, 400])
def test_lines_fit_the_terminal_and_every_number_is_there_once(require, surf, width):
    require("rich", "cli")
    text = to_text(surf, width=width)
    lines = text.splitlines()
    assert max(map(len, lines)) <= width
    for task in published("table2").tasks:
        assert sum(task in line.split() for line in lines) == 1
    shown = re.findall(r"\d+\.\d\d(?=[*+]?\s+\(\d)", text.split("best, + second")[0])
    ours = [f"{e.value:.2f}" for row in surf.rows for e in row.entries if e.published is not None]
    assert sorted(shown) == sorted(ours)


def test_a_wide_terminal_needs_fewer_blocks(require, surf):
    require("rich", "cli")
    blocks = [to_text(surf, width=width).count("\nmethod ") for width in (80, 200, 400)]
    assert blocks == sorted(blocks, reverse=True)
    assert blocks[0] > 1
    assert blocks[-1] == 1


def test_a_console_shows_marks_in_its_own_way(require, surf):
    console = require("rich.console", "cli").Console
    plain = console(width=80, color_system=None)
    with plain.capture() as captured:
        plain.print(surf)
    assert "39.32* (39.32)" in captured.get()
    assert "\x1b" not in captured.get()
    coloured = console(width=80, force_terminal=True, color_system="standard", no_color=True)
    with coloured.capture() as captured:
        coloured.print(surf)
    assert "\x1b[1m39.32\x1b[0m" in captured.get()
    assert "39.32*" not in captured.get()


def test_markup_in_names_is_printed_as_it_is(require):
    require("rich", "cli")
    table = Table("[red]x[/red]", "[b]", ["[u]"], [Column("[i]t[/i]", entries=[Entry(1.0)])])
    text = to_text(table)
    assert all(name in text for name in ("[red]x[/red]", "[b]", "[i]t[/i]", "[u]"))


# --- Markdown -----------------------------------------------------------------------------------


def cells_of(line):
    return re.split(r"(?<!\\)\|", line)[1:-1]


def test_every_markdown_row_has_all_columns(surf):
    lines = [line for line in to_markdown(surf).splitlines() if line.startswith("|")]
    assert len(lines) == 2 + len(surf.rows)
    assert {len(cells_of(line)) for line in lines} == {1 + len(surf.columns)}
    assert "| **39.32** (39.32) |" in to_markdown(surf)
    assert "| *33.90* (33.90) |" in to_markdown(surf)


def test_markdown_escapes_what_would_not_be_text():
    nasty = "a|b*c_d<script>`x`\nnew"
    table = Table(nasty, nasty, [nasty], [Column(nasty, entries=[Entry(note=nasty)])], [nasty])
    text = to_markdown(table)
    assert "<script" not in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert [len(cells_of(line)) for line in rows] == [2, 2, 2]


# --- LaTeX --------------------------------------------------------------------------------------

NASTY = 'x_1 & 50% of $9 #2 {a} \\b ~c ^d <e> | "f" -> g ± ×'


def assert_sound_latex(text, n_columns):
    assert text.count(r"\begin{") == text.count(r"\end{")
    bare = re.sub(r"\\[{}]", "", text)
    assert bare.count("{") == bare.count("}")
    body = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert {len(re.findall(r"(?<!\\)&", line)) for line in body} == {n_columns}


def assert_compiles_where_it_can(text, folder):
    if shutil.which("pdflatex") is None:
        return
    packages = r"\usepackage[T1]{fontenc}\usepackage{booktabs}\usepackage{graphicx}"
    document = rf"\documentclass{{article}}{packages}\begin{{document}}{text}\end{{document}}"
    (folder / "table.tex").write_text(document, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "table.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]


def test_latex_is_sound(surf, tmp_path):
    text = to_latex(surf, label="tab:surf")
    assert_sound_latex(text, len(surf.columns))
    assert r"\textbf{39.32} {\scriptsize (39.32)}" in text
    assert r"\underline{33.90}" in text
    assert r"\label{tab:surf}" in text
    assert r"A$\to$W" in text
    assert_compiles_where_it_can(text, tmp_path)


def test_latex_escapes_what_would_be_a_command(tmp_path):
    first = Column(NASTY, entries=[Entry(1.0, 2.0, "best", 0.5)])
    second = Column("b", "times", entries=[Entry(note="n/a")])
    table = Table(NASTY, NASTY, [NASTY], [first, second], [NASTY])
    text = to_latex(table)
    assert_sound_latex(text, 2)
    assert r"x\_1 \& 50\% of \$9 \#2 \{a\} \textbackslash{}b" in text
    assert text.isascii()
    assert_compiles_where_it_can(text, tmp_path)
    with pytest.raises(ValueError, match="label must have"):
        to_latex(table, label="a}b")


# --- HTML ---------------------------------------------------------------------------------------


class Reader(html.parser.HTMLParser):
    """Collects tags with their attributes, and checks that every one is closed."""

    def __init__(self):
        super().__init__()
        self.tags, self.open = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def read_html(text):
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert not reader.open
    return reader.tags


def test_html_has_a_value_to_sort_by_in_every_cell(surf):
    tags = read_html(to_html(surf))
    values = [float(attrs["data-value"]) for tag, attrs in tags if tag == "td"]
    assert values == [entry.value for row in surf.rows for entry in row.entries]
    scopes = [attrs["scope"] for tag, attrs in tags if tag == "th"]
    assert scopes == ["col"] * (1 + len(surf.columns)) + ["row"] * len(surf.rows)
    marks = [attrs.get("class", "") for tag, attrs in tags if tag == "td"]
    assert marks == [entry.mark for row in surf.rows for entry in row.entries]


def test_html_leaves_missing_values_empty_and_says_why():
    table = Table("t", "m", ["x"], [Column("a", entries=[Entry(note="failed", published=2.0)])])
    assert '<td data-value="">failed <small>(2.00)</small></td>' in to_html(table)


def test_html_escapes_scripts_everywhere():
    nasty = '"><script>alert(1)</script>'
    table = Table(nasty, nasty, [nasty], [Column(nasty, entries=[Entry(note=nasty)])], [nasty])
    tags = read_html(to_html(table))
    assert "script" not in {tag for tag, _ in tags}
    assert [attrs["data-value"] for tag, attrs in tags if "data-value" in attrs] == [nasty, ""]


def test_the_same_outcomes_give_the_same_text(surf):
    again = accuracy_table(paper_outcomes(), published="table2", title="Office+Caltech SURF")
    assert again == surf
    assert to_html(again) == to_html(surf)


# --- CSV ----------------------------------------------------------------------------------------


def test_csv_has_every_number_with_all_its_digits(surf):
    lines = list(csv.DictReader(io.StringIO(to_csv(surf))))
    assert [line["method"] for line in lines] == [row.label for row in surf.rows]
    for line in lines:
        for column in surf.columns:
            entry = surf.column(column.name)[line["method"]]
            assert float(line[column.name]) == entry.value
            if entry.published is not None:
                assert float(line[f"{column.name} published"]) == entry.published


def test_csv_leaves_missing_values_empty_and_quotes_names():
    columns = [Column("x", entries=[Entry(note="failed")])]
    columns.append(Column("y", entries=[Entry(1.5, spread=0.25)]))
    table = Table("t", "m", ['a, "b"'], columns)
    assert list(csv.reader(io.StringIO(to_csv(table)))) == [
        ["m", "x", "y", "y spread"],
        ['a, "b"', "", "1.5", "0.25"],
    ]
