"""Choosing without target labels."""

from skatter.selection._asking import (
    Estimate,
    LabelSheet,
    LabelVerdict,
    judge_answers,
    pick_rows_to_label,
)
from skatter.selection._asking_numbers import (
    NumberVerdict,
    judge_number_answers,
    pick_numbers_to_label,
)
from skatter.selection._folds import nearest_labels
from skatter.selection._scorers import make_domain_scorer
from skatter.selection._search import BETAS, DELTAS, SCACV
from skatter.selection._splitters import LeaveOneDomainOut
from skatter.selection.criteria import (
    CRITERIA,
    Choice,
    Criterion,
    choose,
    effective_sample_size,
    importance_weights,
    is_collapsed,
    judge,
    scatter_criterion,
)

__all__ = [
    "BETAS",
    "CRITERIA",
    "DELTAS",
    "SCACV",
    "Choice",
    "Criterion",
    "Estimate",
    "LabelSheet",
    "LabelVerdict",
    "LeaveOneDomainOut",
    "NumberVerdict",
    "choose",
    "effective_sample_size",
    "importance_weights",
    "is_collapsed",
    "judge",
    "judge_answers",
    "judge_number_answers",
    "make_domain_scorer",
    "nearest_labels",
    "pick_numbers_to_label",
    "pick_rows_to_label",
    "scatter_criterion",
]
