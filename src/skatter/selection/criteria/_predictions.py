"""Judging predictions for a target by themselves: entropy, density, and a guard against collapse.

P holds one row of class probabilities for each target sample, p_i; p̄ is their mean and H the
Shannon entropy.

=========================  ====================================================================
prediction entropy         −mean H(p_i): sure predictions are good ones
mutual information         H(p̄) − mean H(p_i): sure predictions of many classes
soft neighbourhood density mean H(q_i), q_i the softmax of p̂_iᵀp̂_j/T over j ≠ i, rows of unit
                           length: similar predictions lie close together
=========================  ====================================================================

All are larger for the better. A constant and sure prediction has the best entropy and the best
density there is, so neither may be trusted without :func:`is_collapsed`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import softmax
from scipy.stats import entropy
from sklearn.metrics import pairwise_distances_argmin_min
from sklearn.preprocessing import normalize
from sklearn.utils import check_array, gen_batches

from skatter._checks import check_real, check_table
from skatter._tensors import Array
from skatter.domains import Codes

STRIP = 1024  # rows of the matrix of similarities that are formed at once


def prediction_entropy(probabilities: Any) -> float:
    """Minus the mean entropy of the predictions, in nats: from −log C to 0, where all are sure.

    Parameters
    ----------
    probabilities : array-like of shape (n_samples, n_classes)
        Class probabilities of unlabelled samples; rows are scaled to sum to one.

    References
    ----------
    P. Morerio, J. Cavazza, V. Murino: Minimal-Entropy Correlation Alignment for Unsupervised Deep
    Domain Adaptation. ICLR 2018.

    Examples
    --------
    >>> round(prediction_entropy([[1.0, 0.0], [0.5, 0.5]]), 4)
    -0.3466
    """
    return -float(np.mean(entropy(_read(probabilities), axis=1)))


def mutual_information(probabilities: Any) -> float:
    """Entropy of the mean prediction less the mean entropy of the predictions, in nats.

    Large, log C at most, where each prediction is sure and all together name many classes: a
    constant classifier has 0, the least there is. It expects target classes that are about equally
    frequent.

    Parameters
    ----------
    probabilities : array-like of shape (n_samples, n_classes)
        Class probabilities of unlabelled samples; rows are scaled to sum to one.

    References
    ----------
    J. Bridle, A. Heading, D. MacKay: Unsupervised Classifiers, Mutual Information and Phantom
    Targets. NIPS 1991.

    Examples
    --------
    >>> round(mutual_information([[1.0, 0.0], [0.0, 1.0]]), 4)
    0.6931
    >>> mutual_information([[1.0, 0.0], [1.0, 0.0]])
    0.0
    """
    P = _read(probabilities)
    return float(entropy(P.mean(axis=0)) - np.mean(entropy(P, axis=1)))


def soft_neighbourhood_density(probabilities: Any, temperature: float = 0.05) -> float:
    """Mean entropy of the similarities between a prediction and all others: log(n − 1) at most.

    Parameters
    ----------
    probabilities : array-like of shape (n_samples, n_classes)
        Class probabilities of unlabelled samples, two at least.
    temperature : float > 0
        T of the softmax; 0.05 is the authors' own.

    References
    ----------
    K. Saito, D. Kim, P. Teterwak, S. Sclaroff, T. Darrell, K. Saenko: Tune it the Right Way:
    Unsupervised Validation of Domain Adaptation via Soft Neighborhood Density. ICCV 2021.

    Examples
    --------
    >>> round(soft_neighbourhood_density([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]]), 4)
    0.6931
    """
    temperature = check_real("temperature", temperature, low=0, open_low=True)
    P = normalize(_read(probabilities, least=2))
    total = 0.0
    for rows in gen_batches(len(P), STRIP):
        similarity = P[rows] @ P.T / temperature
        own = np.arange(len(P))[rows]
        similarity[np.arange(len(own)), own] = -np.inf
        total += float(np.sum(entropy(softmax(similarity, axis=1), axis=1)))
    return total / len(P)


def is_collapsed(predicted: Any, known: Any, *, share: float = 0.1) -> bool:
    """Whether the predictions for a target have all but collapsed into one class.

    They have where the entropy of their class shares is less than ``share`` of the entropy of the
    known class shares. With ten classes of equal size that is 96 % of the predictions in one
    class, with two of equal size 99 %; where classes are rare in the sources, they may be as rare
    in the target.

    Parameters
    ----------
    predicted : array-like of shape (n_target,)
        Predicted classes.
    known : array-like of shape (n_source,)
        Classes of the labelled samples.
    share : float in [0, 1]
        Least entropy in units of that of ``known``.

    Examples
    --------
    >>> is_collapsed(["cat"] * 9, ["cat", "dog"])
    True
    >>> is_collapsed(["cat"] * 9 + ["dog"], ["cat", "dog"])
    False
    """
    share = check_real("share", share, low=0, high=1)
    found, expected = (
        entropy(np.unique(np.asarray(labels), return_counts=True)[1])
        for labels in (predicted, known)
    )
    return bool(found <= share * expected)


def nearest_class_probabilities(
    train: Any, label: Codes, new: Any, n_classes: int | None = None
) -> Array:
    """Soft labels p_c ∝ 1/d_c², d_c the distance from the nearest training sample of class c.

    They sum to one, and do not change with the scale of the samples. They stand in for the
    probabilities of a classifier that has none, such as 1-nearest-neighbour, whose most probable
    class is the same.

    Parameters
    ----------
    train : array-like of shape (n_train, n_features)
        Labelled samples.
    label : ndarray of int of shape (n_train,)
        Their classes, as codes.
    new : array-like of shape (n_new, n_features)
        Samples to be predicted.
    n_classes : int or None
        Number of classes; None is the largest code plus one. A class without a training sample
        has probability 0.

    Examples
    --------
    >>> import numpy as np
    >>> nearest_class_probabilities([[0.0], [3.0]], np.array([0, 1]), [[1.0], [3.0]]).tolist()
    [[0.8, 0.2], [0.0, 1.0]]
    """
    train, new = check_table(train, "train"), check_table(new, "new")
    n_classes = int(label.max()) + 1 if n_classes is None else n_classes
    distance = np.full((new.shape[0], n_classes), np.inf)
    for c in np.unique(label):
        distance[:, c] = pairwise_distances_argmin_min(new, train[label == c])[1]
    # Ratios to the nearest class: no overflow where a distance is tiny, none where it is zero.
    nearest = distance.min(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        closeness = np.where(distance == nearest, 1.0, np.square(nearest / distance))
    return np.asarray(closeness / closeness.sum(axis=1, keepdims=True))


def _read(probabilities: Any, *, least: int = 1) -> Array:
    P = check_array(
        probabilities, dtype=np.float64, ensure_min_samples=least, input_name="probabilities"
    )
    if (P < 0).any() or not (P.sum(axis=1) > 0).all():
        raise ValueError(
            "probabilities must not be negative, and no row may be all zero. Give the output of "
            "predict_proba, not decision values."
        )
    return np.asarray(P / P.sum(axis=1, keepdims=True))
