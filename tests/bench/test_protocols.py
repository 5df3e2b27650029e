"""Which folds choose, what they hide, and that the target never chooses unless it is said."""

from __future__ import annotations

import numpy as np
import pytest

from skatter_bench.protocols import (
    PROTOCOLS,
    choose,
    choosing_folds,
    final_fold,
    folds,
    split,
)
from skatter_bench.tasks import Problem, Task

ADAPTATION = Task("a->b", "digits", ("a",), ("b",), "adaptation", 3, "toy")
SEVERAL = Task("a,b->c", "digits", ("a", "b"), ("c",), "generalization", 3, "toy")


@pytest.fixture
def problem() -> Problem:
    """Sources a and b with labels; target c, which may be learnt from and has a part of its own."""
    domain = np.repeat(["a", "b", "c"], [30, 20, 25])
    y = np.arange(75) % 3
    return Problem(np.zeros((75, 2)), y, domain, np.arange(70), np.arange(50), np.arange(50, 75))


def test_only_the_oracle_lets_the_target_choose():
    deciding = {name for name in PROTOCOLS if "target" in choosing_folds(name, ADAPTATION)}
    assert deciding == {"target-oracle"}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_protocol_ends_with_the_task_itself(protocol, problem):
    names = folds(protocol, SEVERAL)
    assert names[-1] == final_fold(protocol)
    assert len(set(names)) == len(names)
    last = split(problem, names[-1], 0)
    assert list(last.score) == list(problem.test)
    assert list(last.labelled) == list(problem.labelled)


def test_source_folds_hide_every_source_label_once_and_keep_all_samples(problem):
    parts = [split(problem, f"source-{i}", seed=3) for i in range(5)]
    held = np.concatenate([part.score for part in parts])
    assert sorted(held) == list(range(50))
    for part in parts:
        assert list(part.learn) == list(range(70))
        assert sorted([*part.labelled, *part.score]) == list(range(50))


def test_source_folds_hold_classes_in_their_shares(problem):
    for i in range(5):
        counts = np.bincount(problem.y[split(problem, f"source-{i}", 0).score], minlength=3)
        assert counts.max() - counts.min() <= 1


def test_source_folds_are_those_of_their_seed(problem):
    same, again, other = (split(problem, "source-2", seed).score for seed in (0, 0, 1))
    assert list(same) == list(again)
    assert list(same) != list(other)


def test_a_domain_left_out_is_not_learnt_from(problem):
    part = split(problem, "without-a", 0)
    assert set(problem.domain[part.learn]) == {"b", "c"}
    assert set(problem.domain[part.labelled]) == {"b"}
    assert list(part.score) == list(range(30))


def test_the_target_fold_is_the_task_itself(problem):
    part = split(problem, "target", 0)
    assert list(part.learn) == list(problem.learn)
    assert list(part.labelled) == list(problem.labelled)
    assert list(part.score) == list(problem.test)


def test_the_best_mean_is_chosen_and_the_first_among_equals():
    scores = {"source-0": [0.1, 0.7, 0.9, 0.9], "source-1": [0.9, 0.5, 0.3, 0.3]}
    assert choose(scores) == 1
    assert choose({"source-0": [0.2, 0.8, 0.8]}) == 1


def test_means_that_differ_by_rounding_alone_are_equal():
    scores = {f"source-{i}": row for i, row in enumerate([[0.1, 0.3], [0.2, 0.2], [0.3, 0.1]])}
    assert choose(scores) == 0


def test_a_setting_that_fails_on_one_fold_is_not_chosen():
    nan = float("nan")
    assert choose({"source-0": [nan, 0.2], "source-1": [1.0, 0.1]}) == 1


def test_nothing_to_choose_from_is_an_error():
    with pytest.raises(ValueError, match="no setting"):
        choose({"source-0": [float("nan")]})
