"""
A method of your own
====================

A method is a scikit-learn estimator that also takes ``sample_domain``. Twenty lines are enough
to stand beside those of the library: in a pipeline, in a search, and in every table of the
benchmark.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.neighbors import KNeighborsClassifier

from skatter import SCA, make_domain_pipeline
from skatter.datasets import make_figure1
from skatter.selection import choose


class SameMeans(TransformerMixin, BaseEstimator):
    """Move every domain to the common mean."""

    def fit(self, X, y=None, *, sample_domain=None):
        """Remember the mean of each domain."""
        self.shift_ = {name: X[sample_domain == name].mean(axis=0) for name in set(sample_domain)}
        self.mean_ = X.mean(axis=0)
        return self

    def transform(self, X, *, sample_domain=None):
        """Take it away from samples of that domain."""
        if sample_domain is None:
            return X - self.mean_
        return np.array([x - self.shift_[name] for x, name in zip(X, sample_domain, strict=True)])

    def fit_transform(self, X, y=None, *, sample_domain=None):
        """Do both; the one of ``TransformerMixin`` would forget the domains half-way."""
        return self.fit(X, y, sample_domain=sample_domain).transform(X, sample_domain=sample_domain)


# %%
# In a pipeline, beside SCA and beside doing nothing:

data = make_figure1()
target = data.domain == "target"
y = np.where(target, -1, data.y)
models = {
    "nothing": KNeighborsClassifier(1),
    "SameMeans": make_domain_pipeline(SameMeans(), KNeighborsClassifier(1)),
    "SCA": make_domain_pipeline(SCA(), KNeighborsClassifier(1)),
}

# %%
# Which of them would you ship, if you had no label of the target? ``choose`` asks just that.

choice = choose(models, data.X, y, sample_domain=data.domain)
print("chosen without target labels:", choice.best)

# %%
# And which of them was right?

right = {}
for name, model in models.items():
    if name == "nothing":
        predicted = model.fit(data.X[~target], y[~target]).predict(data.X[target])
    else:
        model.fit(data.X, y, sample_domain=data.domain)
        predicted = model.predict(data.X[target], sample_domain=data.domain[target])
    right[name] = 100 * np.mean(predicted == data.y[target])

figure, ax = plt.subplots(figsize=(6, 1.9), layout="constrained")
bars = ax.barh(list(right), list(right.values()), color="#3f90da")
ax.bar_label(bars, fmt="%.0f %%", padding=3)
ax.set(xlabel="percent of the target samples that are right", xlim=(0, 110))
ax.invert_yaxis()
ax.spines[["top", "right"]].set_visible(False)

# %%
# The shift here is an offset, the case that ``SameMeans`` was made for. To see it on every task
# of the paper: ``skatter bench run table2 --method same_means:SameMeans``. *A new method in an
# hour* says how.
