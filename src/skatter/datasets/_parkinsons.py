"""Parkinson's telemonitoring: clinical scores from voices; every patient is a domain."""

from __future__ import annotations

import numpy as np

from skatter._checks import check_choice
from skatter.datasets._home import Home
from skatter.datasets._reading import as_numbers, read_columns
from skatter.datasets._record import FACTS, SOURCES, Dataset

SOURCE = SOURCES["parkinsons"]
SUBJECT = "subject#"
TARGETS = {"motor": "motor_UPDRS", "total": "total_UPDRS"}

VOICE = (
    *("Jitter(%)", "Jitter(Abs)", "Jitter:RAP", "Jitter:PPQ5", "Jitter:DDP"),
    *("Shimmer", "Shimmer(dB)", "Shimmer:APQ3", "Shimmer:APQ5", "Shimmer:APQ11", "Shimmer:DDA"),
    *("NHR", "HNR", "RPDE", "DFA", "PPE"),
)
"""The columns that measure the voice: the features, in this order."""


def load_parkinsons(
    target: str = "motor", *, data_home: Home = None, download_if_missing: bool = False
) -> Dataset:
    """Load 5,875 recordings of 42 patients, with a clinical score each: a set for regression.

    The features are 16 measures of the voice, as they are: age, sex and time of the recording are
    left out, for they tell the patient. They differ in scale by orders of magnitude, so scale them,
    with what is learnt from the sources alone. The file is not part of skatter.

    Parameters
    ----------
    target : "motor" or "total"
        Which score of the Unified Parkinson's Disease Rating Scale ``y`` holds.
    data_home : path or None
        Where ``parkinsons_telemonitoring`` lies; None is ``SKATTER_DATA``, or ``~/skatter_data``.
    download_if_missing : bool
        Download a missing file (0.9 MB, CC BY 4.0) from UCI; needs ``pip install "skatter[data]"``.

    Returns
    -------
    Dataset
        Domains ``"1"`` to ``"42"``, 16 features, ``y`` of float64 numbers, no class names.

    Examples
    --------
    >>> from skatter.datasets import load_parkinsons
    >>> load_parkinsons(data_home="downloads")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    FileNotFoundError: parkinsons_telemonitoring/parkinsons_updrs.data is not in downloads. Put ...
    """
    score = TARGETS[check_choice("target", target, tuple(TARGETS))]
    path = SOURCE.find("all", data_home, download_if_missing=download_if_missing)
    columns = read_columns(path, (SUBJECT, score, *VOICE))
    X = as_numbers(path, [columns[name] for name in VOICE])
    y, patient = (as_numbers(path, [columns[name]])[:, 0] for name in (score, SUBJECT))
    return FACTS["parkinsons"].dataset(X, y, patient.astype(np.int64).astype(str))
