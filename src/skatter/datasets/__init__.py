"""Data sets with domains: digits and objects from several places, and the paper's toy picture."""

from skatter.datasets.digits import load_digits_pair
from skatter.datasets.mnist_usps import load_mnist_usps
from skatter.datasets.office_caltech import load_office_caltech
from skatter.datasets.pacs import load_pacs
from skatter.datasets.record import Dataset
from skatter.datasets.rotated_mnist import load_rotated_mnist
from skatter.datasets.synthetic import make_figure1

__all__ = [
    "Dataset",
    "load_digits_pair",
    "load_mnist_usps",
    "load_office_caltech",
    "load_pacs",
    "load_rotated_mnist",
    "make_figure1",
]
