"""``skatter methods`` says what the registry holds, at any width, and refuses in plain words."""

from __future__ import annotations

import re
from dataclasses import replace
from inspect import signature

import pytest
from typer.testing import CliRunner

from skatter._formatting import public_name
from skatter.cli import _methods as command
from skatter.cli import build_app
from skatter.methods import METHODS, get_method

runner = CliRunner()


def run(*arguments, width=200):
    return runner.invoke(
        build_app(), ["methods", *arguments], env={"COLUMNS": str(width), "TERM": "dumb"}
    )


def words(text):
    """The words alone, however the lines and frames were broken."""
    return " ".join(re.sub("[│╭╮╰╯─]", " ", text).split())


@pytest.mark.parametrize("width", [80, 120, 200])
def test_every_method_is_listed_once(width):
    result = run(width=width)
    assert result.exit_code == 0, result.output
    first_words = re.findall(r"^ (\S+) ", result.output, re.MULTILINE)
    assert sorted(name for name in first_words if name in METHODS) == sorted(METHODS)


def test_the_list_says_what_each_does_and_needs():
    (line,) = (line for line in run().output.splitlines() if line.startswith(" sca "))
    assert re.split(" {2,}", line.strip()) == [
        "sca",
        "classes apart, domains together",
        "source labels; target labels, several sources if there",
        "features",
    ]


@pytest.mark.parametrize("width", [80, 120])
def test_no_line_is_wider_than_the_terminal(width):
    lines = [
        line
        for name in ([], *([n] for n in METHODS))
        for line in run(*name, width=width).output.splitlines()
    ]
    assert max(len(line) for line in lines) <= width
    assert "…" not in "".join(lines)  # nothing is cut off


@pytest.mark.parametrize("name", METHODS)
def test_one_method_is_told_in_full(name):
    method = get_method(name)
    result = run(name)
    assert result.exit_code == 0, result.output
    said = words(result.output)
    assert said.startswith(f"{name}: {method.summary}")
    for fact in (method.when, *method.needs, *method.uses, method.kind, method.cost):
        assert words(fact) in said
    assert method.citation in said
    assert public_name(method.estimator) in said


def row_of(output, parameter):
    (line,) = (line for line in output.splitlines() if line.startswith(f" {parameter} "))
    return re.split(" {2,}", line.strip())


@pytest.mark.parametrize("name", METHODS)
def test_every_parameter_has_its_default_and_grid(name):
    method = get_method(name)
    output = run(name, width=400).output
    for parameter, default in method.estimator().get_params(deep=False).items():
        values = method.grid.get(parameter)
        tried = [", ".join(repr(value) for value in values)] if values else []
        assert row_of(output, parameter) == [parameter, repr(default), *tried]


def test_parameters_come_in_the_order_of_the_constructor():
    output = run("sca").output
    names = list(signature(METHODS["sca"].estimator).parameters)
    places = [output.index(f"\n {name} ") for name in names]
    assert places == sorted(places)


def test_an_unknown_name_is_refused_with_the_names_there_are():
    result = run("nosuch")
    assert result.exit_code == 2
    assert isinstance(result.exception, SystemExit)
    assert "Traceback" not in result.output
    with pytest.raises(ValueError, match="method must be one of") as caught:
        get_method("nosuch")
    assert words(str(caught.value)) in words(result.output)


def test_brackets_are_printed_and_not_read_as_markup(monkeypatch):
    odd = replace(METHODS["sca"], summary="a [bold]b", when="c [d]", citation="E [f]: G. H, 1999.")
    monkeypatch.setattr(command, "METHODS", {"sca": odd})
    monkeypatch.setattr(command, "get_method", lambda name: odd)
    assert "a [bold]b" in run().output
    told = run("sca").output
    assert ["a [bold]b" in told, "c [d]" in told, "E [f]: G. H, 1999." in told] == [True] * 3


def test_kinds_are_listed_together(monkeypatch):
    sca = METHODS["sca"]
    kinds = {"one": "weights", "two": "features", "three": "classifier", "four": "features"}
    listed = {name: replace(sca, name=name, kind=kind) for name, kind in kinds.items()}
    monkeypatch.setattr(command, "METHODS", listed)
    names = re.findall(r"^ (\w+) ", run().output, re.MULTILINE)
    assert names == ["name", "two", "four", "three", "one"]
