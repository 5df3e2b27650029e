"""Choosing without target labels."""

from skatter.selection.benefit import Benefit, does_it_help
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
from skatter.selection.folds import nearest_labels
from skatter.selection.generalize import DomainGeneralizer, generalization_candidates
from skatter.selection.search import BETAS, DELTAS, SCACV
from skatter.selection.splitters import LeaveOneDomainOut

__all__ = [
    "BETAS",
    "CRITERIA",
    "DELTAS",
    "SCACV",
    "Benefit",
    "Choice",
    "Criterion",
    "DomainGeneralizer",
    "LeaveOneDomainOut",
    "choose",
    "does_it_help",
    "effective_sample_size",
    "generalization_candidates",
    "importance_weights",
    "is_collapsed",
    "judge",
    "nearest_labels",
    "scatter_criterion",
]
