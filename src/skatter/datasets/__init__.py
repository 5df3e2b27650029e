"""Data sets with domains: digits, objects, actions, reviews, voices, tables, and a picture.

A loader raises FileNotFoundError where a file is missing, with where to put it and where it comes
from; ValueError where skatter knows another by size and SHA-256; ImportError without an extra.
"""

from skatter.datasets._amazon_reviews import load_amazon_reviews
from skatter.datasets._digits import load_digits_pair
from skatter.datasets._everyday_tables import load_everyday_table
from skatter.datasets._ixmas import load_ixmas
from skatter.datasets._mnist_draw import draw_mnist_usps
from skatter.datasets._mnist_usps import load_mnist_usps
from skatter.datasets._msrc_voc import load_msrc_voc
from skatter.datasets._office_caltech import load_office_caltech
from skatter.datasets._pacs import load_pacs
from skatter.datasets._parkinsons import load_parkinsons
from skatter.datasets._record import Dataset
from skatter.datasets._registry import DATASETS, DatasetInfo, get_dataset
from skatter.datasets._rotated_mnist import load_rotated_mnist
from skatter.datasets._synthetic import make_figure1
from skatter.datasets._vlcs import load_vlcs

__all__ = [
    "DATASETS",
    "Dataset",
    "DatasetInfo",
    "draw_mnist_usps",
    "get_dataset",
    "load_amazon_reviews",
    "load_digits_pair",
    "load_everyday_table",
    "load_ixmas",
    "load_mnist_usps",
    "load_msrc_voc",
    "load_office_caltech",
    "load_pacs",
    "load_parkinsons",
    "load_rotated_mnist",
    "load_vlcs",
    "make_figure1",
]
