"""Counting iterations, stopping, and saying so."""

from __future__ import annotations

import warnings

import pytest
from sklearn.exceptions import ConvergenceWarning

from skatter.methods._iteration import Iterations


def run(values, **limits):
    iterations = Iterations("test", **limits)
    for i in iterations:
        iterations.record(values[i])
    return iterations.objective


def test_iterations_stop_once_the_objective_changes_too_little():
    assert run([8.0, 4.0, 3.99, 1.0], max_iter=4, tol=0.01) == [8.0, 4.0, 3.99]


def test_the_change_is_relative_to_the_objective():
    assert len(run([8e9, 4e9, 3.99e9, 1e9], max_iter=4, tol=0.01)) == 3


def test_an_objective_that_vanishes_has_settled():
    assert run([0.0, 0.0, 0.0], max_iter=3, tol=1e-3) == [0.0, 0.0]


def test_a_tolerance_of_zero_runs_all_iterations_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run([1.0, 1.0, 1.0], max_iter=3, tol=0) == [1.0, 1.0, 1.0]


def test_a_loop_that_did_not_settle_warns():
    with pytest.warns(ConvergenceWarning, match="test did not converge in max_iter=2"):
        run([2.0, 1.0], max_iter=2, tol=1e-3)


def test_settling_in_the_last_iteration_is_settling():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run([1.0, 1.0], max_iter=2, tol=1e-3) == [1.0, 1.0]


def test_a_method_may_have_a_test_of_its_own():
    iterations = Iterations("test", max_iter=9, tol=1e-3)
    for i in iterations:
        iterations.record(1.0, settled=i == 4)
    assert len(iterations.objective) == 5


def test_progress_is_printed_when_asked(capsys):
    iterations = Iterations("test", max_iter=2, tol=0, verbose=1)
    for _ in iterations:
        iterations.record(0.5, note="all is well")
    assert capsys.readouterr().out.splitlines() == [
        "[test] iteration 1 of at most 2: objective 0.5, all is well",
        "[test] iteration 2 of at most 2: objective 0.5, all is well",
    ]
