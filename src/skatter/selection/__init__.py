"""Choosing hyper-parameters without target labels."""

from skatter.selection.folds import nearest_labels
from skatter.selection.search import BETAS, DELTAS, SCACV
from skatter.selection.splitters import LeaveOneDomainOut

__all__ = ["BETAS", "DELTAS", "SCACV", "LeaveOneDomainOut", "nearest_labels"]
