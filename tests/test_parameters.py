"""Declared parameters raise our errors, in one place."""

from __future__ import annotations

from inspect import getdoc, signature

import numpy as np
import pytest

from skatter._parameters import (
    BOOLEAN,
    COUNT,
    NON_NEGATIVE,
    POSITIVE,
    SHARE,
    Declared,
    choice,
    declared,
    integer,
    named_or,
    optional,
    parameter,
    random_state,
    rules_of,
)
from skatter.kernels import WithKernel

KERNEL = rules_of(WithKernel)


@declared
class Base(Declared):
    """A base.

    Parameters
    ----------
    k : int or None
        How many.
    scale : {"unit", "none"}
        Length.

    Attributes
    ----------
    found_ : int
        How many there were.
    """

    k: int | None = parameter(optional(COUNT), default=None, kw_only=False)
    scale: str = parameter(choice("unit", "none"), default="unit")


@declared
class Derived(Base):
    """A derived class.

    Parameters
    ----------
    weight : float >= 0
        Weight.
    k : int >= 3
        How many, three at least.

    Notes
    -----
    None.
    """

    k: int = parameter(integer(3), default=3, kw_only=False)
    weight: float = parameter(NON_NEGATIVE, default=0.0)

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
        (
            KERNEL["gamma"],
            "wide",
            ValueError,
            "p must be 'median', 'printed', a number or None",
        ),
        (
            KERNEL["kernel"],
            "magic",
            ValueError,
            "p must be one of additive_chi2, chi2, cosine",
        ),
        (
            KERNEL["kernel_params"],
            3,
            TypeError,
            "p must be a mapping or None, got 3.",
        ),
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


def test_the_constructor_takes_what_a_class_and_its_bases_declare():
    assert str(signature(Derived)).startswith("(k: 'int' = 3, *, scale: 'str' = 'unit', weight:")
    assert vars(Derived(5, weight=2.0)) == {"k": 5, "scale": "unit", "weight": 2.0}
    assert Derived() != Derived()


def test_a_docstring_says_what_the_bases_say_of_what_it_leaves_out():
    text = getdoc(Derived)
    titles = [line for line in text.splitlines() if line in ("Parameters", "Attributes", "Notes")]
    assert titles == ["Parameters", "Attributes", "Notes"]
    assert "    Weight.\nk : int >= 3\n    How many, three at least.\nscale : {" in text
    assert "Attributes\n----------\nfound_ : int\n    How many there were.\n\nNotes\n" in text
