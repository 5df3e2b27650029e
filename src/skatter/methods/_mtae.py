"""Multi-task autoencoder: features from which an object can be redrawn in every domain.

An object is one thing in several views, or samples of one class that were paired at random. N
counts the inputs, and x̃ is x with a random part of its p features set to zero.

All decoders are one matrix (V_1; ..; V_m), so that a step follows the gradient of the objective
itself and needs a single pass through the network.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from skatter._extras import need
from skatter._parameters import COUNT, NON_NEGATIVE, POSITIVE, choice, parameter, real
from skatter._tensors import Array
from skatter.domains import Codes, Domains, Mask
from skatter.methods._base import Seeded, Transfer, WithComponents
from skatter.methods._generalization import GeneralizingTransformer
from skatter.methods._iteration import Iterations, Iterative
from skatter.methods._record import Tuning, method, tried

N_HIDDEN = 500  # hidden units of the published experiments
WINDOW = 5  # epochs over which the objective is averaged to see it fall: corruption makes it noisy


@method(
    "mtae",
    when="the same objects were seen in several domains, and linear maps are too stiff",
    uses=("several sources",),
    cost="epochs × n p r m, r hidden units, m sources",
    linear=True,
    grid={"n_components": (100, 250, 500, 1000)},
    extra="torch",
    coarse=Tuning({}, why="Ghifary et al. 2015 fix all"),
)
class MTAE(WithComponents, Seeded, Iterative, GeneralizingTransformer):
    """Multi-task autoencoder (MTAE): hidden units that redraw a sample in every source domain.

    Learns hidden units from which every view of an object, in whatever source domain it was seen,
    redraws the object in all source domains:

        h(x) = σ(W x + b),        f_t(x) = σ(V_t h(x) + c_t)

        minimise  1/(N p) Σ_i Σ_s Σ_t ‖f_t(x̃ᵢˢ) − xᵢᵗ‖² + ``weight_decay`` Σ_t (‖W‖² + ‖V_t‖²)

    The features are h(x), for samples of any domain. With a single source domain it is a denoising
    autoencoder. Training needs PyTorch, ``pip install "skatter[torch]"``, and runs on the CPU in
    single precision; what was learnt is NumPy arrays, which transform and unpickle without it.

    Parameters
    ----------
    n_components : int or None
        Hidden units. None: twice the number of features, but 500, the published number, at most.
    pairs : "class" or "order"
        Which samples are views of one object. ``"class"``: samples of the same class, one of each
        domain, paired at random, anew for every epoch. A class gives as many objects as it has
        samples in the domain where it has the fewest; domains that lack it have no view of them.
        ``"order"``: the i-th samples of all source domains, in the order of the rows, are views of
        the i-th object. Then domains have equally many labelled samples, and labels agree.
    corruption : float in [0, 1)
        Share of the inputs set to zero, drawn anew for every step.
    weight_decay : float >= 0
        λ. The squared error it is weighed against is a mean over inputs and features.
    learning_rate : float > 0
        Step length of Adam.
    batch_size : int
        Objects for each step; each comes with all its views. With m sources, a step holds a few
        arrays of ``batch_size`` · m² · n_features values.
    max_iter : int
        Epochs, at most.
    tol : float >= 0
        Stop when the objective, averaged over five epochs, has fallen by less than this share of
        itself since the five before; 0 runs all epochs, as published.

    Attributes
    ----------
    coef_ : ndarray of shape (n_components_, n_features)
        W, for samples scaled by ``minimum_`` and ``range_``.
    intercept_ : ndarray of shape (n_components_,)
        b.
    decoder_coef_ : ndarray of shape (n_sources, n_features, n_components_)
        V_t, in the order of ``source_ids_``.
    decoder_intercept_ : ndarray of shape (n_sources, n_features)
        c_t.
    minimum_, range_ : ndarray of shape (n_features,)
        Of each feature over the source samples, which are scaled to [0, 1].

    Notes
    -----
    A sigmoid draws values between 0 and 1, so each feature is scaled to [0, 1] by its range in the
    sources. New samples are scaled by the same map and may fall outside. A feature that does not
    vary in the sources is left out, since no weight on it can be learnt.

    The published program takes steps of RMSprop for one decoder after the other, in batches of 16,
    over 100 epochs. Here a step is Adam's and for all decoders, and the default is 50 epochs. Pairs
    are drawn anew for every epoch, so that every sample has its turn.

    The features lie in [0, 1] and vary little. Scale them up, e.g. by
    :class:`sklearn.preprocessing.StandardScaler`, before a linear support vector machine.

    References
    ----------
    M. Ghifary, W. B. Kleijn, M. Zhang, D. Balduzzi: Domain Generalization for Object Recognition
    with Multi-task Autoencoders. ICCV 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter.methods import MTAE
    >>> rng = np.random.default_rng(0)
    >>> y, site = np.tile([0, 1], 30), np.repeat(["here", "there", "yonder"], 20)
    >>> X = rng.normal(size=(60, 4)) + 3 * y[:, None]
    >>> mtae = MTAE(n_components=6).fit(X, y, sample_domain=site)  # doctest: +SKIP
    >>> mtae.transform(X[:2]).shape, mtae.decoder_coef_.shape  # doctest: +SKIP
    ((2, 6), (3, 4, 6))
    """

    pairs: str = parameter(choice("class", "order"), default="class")
    corruption: float = tried(real(0, np.nextafter(1, 0)), 0.0, 0.1, 0.3, 0.5, default=0.3)
    weight_decay: float = tried(NON_NEGATIVE, 3e-7, 3e-6, 3e-5, default=3e-6)
    learning_rate: float = parameter(POSITIVE, default=3e-3)
    batch_size: int = parameter(COUNT, default=64)
    max_iter: int = 50
    tol: float = 0.0

    def _fit(self, transfer: Transfer) -> None:
        torch = need("torch", 'MTAE is trained by PyTorch: pip install "skatter[torch]"')
        rng = self._rng()
        rows, draw, rank = self._pairing(transfer.X, transfer.domains, rng)
        n_features = transfer.X.shape[1]
        self.n_components_ = int(self.n_components or min(2 * n_features, N_HIDDEN))
        self.minimum_ = transfer.X.min(axis=0).astype(np.float64)
        self.range_ = transfer.X.max(axis=0) - self.minimum_
        first = first_weights(n_features, self.n_components_, len(rank), rng)
        X = self._scaled(transfer.X[rows]).astype(np.float32)
        network = self._train(torch, first, X, draw, rng)
        self.coef_, self.intercept_ = network.W, network.b
        self.decoder_coef_, self.decoder_intercept_ = network.V[rank], network.c[rank]

    def _pairing(
        self, X: Array, domains: Domains, rng: np.random.RandomState
    ) -> tuple[Codes, Callable[[], Codes], Codes]:
        """Return an order of the samples, who is paired with whom in it, and the domains' ranks.

        Neither the order of the rows nor the names of classes and domains may change what is drawn
        at random; so samples are sorted, and classes and domains numbered as they turn up.
        """
        rows = sorted_rows(X, domains)
        label_rank, domain_rank = (
            np.argsort(np.argsort(np.unique(codes[rows], return_index=True)[1]))
            for codes in (domains.label, domains.domain)
        )
        if self.pairs == "order":
            place = np.argsort(rows)
            pairs = place[pairs_by_order(domains)[:, np.argsort(domain_rank)]]
            pairs = pairs[np.argsort(pairs[:, 0])]
            return rows, lambda: pairs, domain_rank
        label, domain = label_rank[domains.label[rows]], domain_rank[domains.domain[rows]]
        return rows, lambda: draw_pairs(label, domain, rng), domain_rank

    def _train(
        self, torch: ModuleType, first: Network, X: Array, draw: Callable[[], Codes], rng: Any
    ) -> Network:
        weights = Network(*(torch.from_numpy(w.astype(np.float32)) for w in first))
        for w in weights:
            w.requires_grad_()
        adam = torch.optim.Adam(weights, lr=self.learning_rate)
        # A generator of its own leaves the user's random numbers alone.
        noise = torch.Generator("cpu").manual_seed(int(rng.randint(2**31 - 1)))
        samples = torch.from_numpy(X)

        def step(pairs: Codes) -> float:
            seen = torch.from_numpy(pairs >= 0)
            views = samples[torch.from_numpy(pairs)]
            drawn = torch.rand(views.shape, generator=noise, dtype=views.dtype, device="cpu")
            corrupted = views * (drawn >= self.corruption)
            loss = objective(weights, corrupted, views, seen, self.weight_decay)
            adam.zero_grad()
            loss.backward()
            adam.step()
            return float(loss.detach())

        iterations = Iterations.of(self)
        with torch.enable_grad():
            for _ in iterations:
                pairs = draw()
                pairs = pairs[rng.permutation(len(pairs))]
                batches = np.split(pairs, range(self.batch_size, len(pairs), self.batch_size))
                losses = [step(batch) for batch in batches]
                value = np.average(losses, weights=[np.sum(batch >= 0) for batch in batches])
                settled = stands_still([*iterations.objective, value], self.tol)
                iterations.record(float(value), settled=settled)
        return Network(*(w.detach().numpy().astype(np.float64) for w in weights))

    def _scaled(self, X: Array) -> Array:
        """Return the samples with the features of the sources in [0, 1], constant ones at zero."""
        shifted = X - self.minimum_
        return np.divide(shifted, self.range_, out=np.zeros_like(shifted), where=self.range_ > 0)

    def _transform(self, X: Array, from_source: Mask) -> Array:
        return expit(self._scaled(X) @ self.coef_.T + self.intercept_).astype(X.dtype, copy=False)


class Network(NamedTuple):
    """One encoder, and a decoder for each domain; arrays or tensors."""

    W: Any
    b: Any
    V: Any
    c: Any


def first_weights(
    n_features: int, n_hidden: int, n_domains: int, rng: np.random.RandomState
) -> Network:
    """Return random weights whose size fits the widths of the layers (Glorot and Bengio, 2010)."""
    limit = np.sqrt(6 / (n_features + n_hidden))
    W = rng.uniform(-limit, limit, size=(n_hidden, n_features))
    V = rng.uniform(-limit, limit, size=(n_domains, n_features, n_hidden))
    return Network(W, np.zeros(n_hidden), V, np.zeros((n_domains, n_features)))


def objective(network: Network, corrupted: Any, views: Any, seen: Any, weight_decay: float) -> Any:
    """Return J: the error of every view drawn from every other one, and the weight decay."""
    W, b, V, c = network
    n, m, p = views.shape
    hidden = (corrupted.reshape(n * m, p) @ W.T + b).sigmoid()
    drawn = (hidden @ V.reshape(m * p, -1).T + c.reshape(-1)).sigmoid().reshape(n, m, m, p)
    errors = ((drawn - views[:, None]) ** 2).sum(-1)
    both = seen[:, :, None] & seen[:, None, :]
    decay = m * (W**2).sum() + (V**2).sum()
    return (errors * both).sum() / (p * seen.sum()) + weight_decay * decay


def stands_still(values: list[Any], tol: float) -> bool:
    """Tell whether the last values are, on average, hardly below those before."""
    if len(values) < 2 * WINDOW:
        return False
    before, now = np.mean(values[-2 * WINDOW : -WINDOW]), np.mean(values[-WINDOW:])
    return bool(before - now < tol * now)


def sorted_rows(X: Array, domains: Domains) -> Codes:
    return np.lexsort((domains.domain, domains.label, *X.T[::-1]))


def draw_pairs(label: Codes, domain: Codes, rng: np.random.RandomState) -> Codes:
    """Draw objects: samples of the same class, one of each domain that has it, none twice."""
    objects = []
    for k in range(label.max() + 1):
        members = [np.flatnonzero((label == k) & (domain == d)) for d in range(domain.max() + 1)]
        size = min(len(rows) for rows in members if len(rows))
        absent = np.full(size, -1)
        drawn = [rng.permutation(rows)[:size] if len(rows) else absent for rows in members]
        objects.append(np.column_stack(drawn))
    return np.concatenate(objects)


def pairs_by_order(domains: Domains) -> Codes:
    """Return the i-th samples of all domains in row i, or say why they are no pairs."""
    counts, ids = domains.domain_counts, domains.domain_ids
    if len(set(counts.tolist())) > 1:
        listed = ", ".join(f"{i} has {n}" for i, n in zip(ids[:5], counts[:5], strict=True))
        raise ValueError(
            "pairs='order' needs equally many labelled samples in every source domain, but "
            f"{listed}. Leave out what has no counterpart, or choose pairs='class'."
        )
    pairs = np.argsort(domains.domain, kind="stable").reshape(len(ids), -1).T
    label = domains.label[pairs]
    wrong, other = np.nonzero(label != label[:, :1])
    if len(wrong):
        one, another = (domains.classes[label[wrong[0], d]] for d in (0, other[0]))
        raise ValueError(
            "pairs='order' needs samples of the same class at the same place of every source "
            f"domain, but sample {wrong[0]} of {ids[0]} is {one} and that of {ids[other[0]]} is "
            f"{another} (counted from 0, labelled samples only). Bring the rows into the same "
            "order, or choose pairs='class'."
        )
    return np.asarray(pairs)
