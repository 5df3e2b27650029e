"""The problems that the benchmarks solve, and a description of the machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from skatter._versions import versions
from skatter.datasets import load_digits_pair, load_mnist_usps
from skatter.kernels import median_distance
from skatter_bench.measure import forget_peak as forget_peak
from skatter_bench.measure import machine as processor
from skatter_bench.measure import peak_bytes as peak_bytes


@dataclass(frozen=True)
class Problem:
    """Samples of two domains, the second one unlabelled."""

    name: str
    X: Any
    y: Any
    domain: Any

    @property
    def gamma(self) -> float:
        """Bandwidth given to every contender, so that all share one kernel."""
        return 1 / median_distance(self.X)


def gaussian(n_source: int, n_target: int, p: int, n_classes: int) -> Problem:
    """Class means, noise and a shift: a Gram matrix with a flat spectrum."""
    rng = np.random.default_rng(0)
    n = n_source + n_target
    label = rng.integers(n_classes, size=n)
    X = rng.normal(size=(n_classes, p))[label] + rng.normal(size=(n, p))
    X[n_source:] += 0.5 * rng.normal(size=p)
    domain = np.where(np.arange(n) < n_source, "source", "target")
    name = f"Gaussian, n = {n_source} + {n_target}, p = {p}, {n_classes} classes"
    return Problem(name, X, np.where(domain == "source", label, -1), domain)


def digits(n_target: int) -> Problem:
    """Real handwritten digits, UCI labelled and MNIST not: a spectrum that decays fast."""
    data = load_digits_pair()
    source = np.flatnonzero(data.domain == "uci")
    target = np.random.default_rng(0).permutation(np.flatnonzero(data.domain == "mnist"))
    rows = np.concatenate([source, target[:n_target]])
    y = np.where(data.domain == "uci", data.y, -1)
    name = f"Digits UCI -> MNIST, n = {len(source)} + {n_target}, p = {data.X.shape[1]}, 10 classes"
    return Problem(name, data.X[rows], y[rows], data.domain[rows])


def mnist_usps() -> Problem:
    """Real digits, MNIST to USPS, as M. Long et al. share them; needs ``SKATTER_DATA``."""
    data = load_mnist_usps()
    source = data.domain == "mnist"
    name = f"Digits MNIST -> USPS, n = {source.sum()} + {(~source).sum()}, p = {data.X.shape[1]}"
    return Problem(name, data.X, np.where(source, data.y, -1), data.domain)


def machine() -> str:
    """One line that says where the numbers were made."""
    libraries = versions()
    named = ("Python", "NumPy", "SciPy", "scikit-learn", "skatter")
    listed = (f"{name} {libraries[name.lower()]}" for name in named)
    return f"{processor()}; {', '.join(listed)}"
