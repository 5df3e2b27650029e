"""Data sets with domains: real digits written in two places, and the paper's toy picture."""

from skatter.datasets.digits import load_digits_pair
from skatter.datasets.record import Dataset
from skatter.datasets.synthetic import make_figure1

__all__ = ["Dataset", "load_digits_pair", "make_figure1"]
