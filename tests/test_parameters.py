"""Declared parameters raise our errors, in one place."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest

from skatter.kernels import KERNEL
from skatter.parameters import (
    BOOLEAN,
    COUNT,
    NON_NEGATIVE,
    POSITIVE,
    SHARE,
    Declared,
    choice,
    integer,
    named_or,
    optional,
    random_state,
    rules_of,
)


class Base(Declared):
    _parameters: ClassVar = {"k": optional(COUNT), "scale": choice("unit", "none")}

    def __init__(self, k=None, scale="unit"):
        self.k, self.scale = k, scale


class Derived(Base):
    _parameters: ClassVar = {"k": integer(3), "weight": NON_NEGATIVE}

    def __init__(self, k=3, scale="unit", weight=0.0):
        super().__init__(k, scale)
        self.weight = weight

    def _check_together(self):
        if self.weight and self.scale == "none":
            raise ValueError("weight > 0 needs a scale.")


@pytest.mark.parametrize(
    ("rule", "value", "error", "message"),
    [
        (COUNT, 0, ValueError, "p must be at least 1, got 0."),
        (COUNT, True, TypeError, "p must be an integer, got True."),
        (SHARE, 1.5, ValueError, "p must lie in [0, 1], got 1.5."),
        (POSITIVE, 0, ValueError, "p must lie in (0, inf), got 0."),
        (NON_NEGATIVE, np.inf, ValueError, "p must lie in [0, inf), got inf."),
        (NON_NEGATIVE, "two", TypeError, "p must be a number, got 'two'."),
        (BOOLEAN, 1, ValueError, "p must be one of True, False, got 1."),
        (choice("a", None), "b", ValueError, "p must be one of 'a', None, got 'b'."),
        (named_or(POSITIVE, "median"), "mean", ValueError, "p must be one of 'median', got 'mean'"),
        (named_or(POSITIVE, "median"), -1, ValueError, "p must lie in (0, inf), got -1."),
        (random_state, "dice", ValueError, "p must be None, an integer or a numpy RandomState"),
        (KERNEL["gamma"], "wide", ValueError, "p must be 'median', 'printed', a number or None"),
        (KERNEL["kernel"], "magic", ValueError, "p must be one of additive_chi2, chi2, cosine"),
        (KERNEL["kernel_params"], 3, TypeError, "p must be a mapping or None, got 3."),
        (KERNEL["degree"], 0, ValueError, "p must lie in [1, inf), got 0."),
    ],
)
def test_a_value_out_of_range_is_refused_in_our_words(rule, value, error, message):
    with pytest.raises(error) as raised:
        rule("p", value)
    assert str(raised.value).startswith(message)


@pytest.mark.parametrize(
    ("rule", "value"),
    [
        (optional(COUNT), None),
        (optional(COUNT), np.int64(2)),
        (named_or(POSITIVE, "median"), "median"),
        (named_or(POSITIVE, "median"), 0.5),
        (random_state, None),
        (random_state, np.random.RandomState(0)),
        (KERNEL["kernel"], "precomputed"),
        (KERNEL["kernel"], np.dot),
        (KERNEL["gamma"], "printed"),
        (KERNEL["gamma"], None),
    ],
)
def test_a_value_in_range_is_taken(rule, value):
    rule("p", value)


def test_a_class_adds_to_the_rules_of_its_bases_and_may_replace_them():
    assert list(rules_of(Derived)) == ["k", "scale", "weight"]
    Derived().check_parameters()
    Base(k=2).check_parameters()
    with pytest.raises(ValueError, match="k must be at least 3, got 2"):
        Derived(k=2).check_parameters()
    with pytest.raises(ValueError, match="scale must be one of 'unit', 'none', got 'two'"):
        Derived(scale="two").check_parameters()


def test_what_depends_on_several_parameters_is_checked_last():
    with pytest.raises(ValueError, match="needs a scale"):
        Derived(scale="none", weight=1.0).check_parameters()
    with pytest.raises(ValueError, match="weight must lie in"):
        Derived(scale="none", weight=-1.0).check_parameters()
