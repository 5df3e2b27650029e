"""
Big data: SCA from a stream
===========================

With an explicit feature map, all that SCA needs of the samples are counts, means and second
moments per domain and class. These add up. So samples may come in chunks, from a disk, from
several places, and the result is that of one fit on all of them.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.frozen import FrozenEstimator

from skatter import SCA, LandmarkMap


def samples(n, seed):
    """Draw ten classes at four sites, the last of them without labels and shifted."""
    rng = np.random.default_rng(seed)
    y, site = rng.integers(0, 10, n), rng.integers(0, 4, n)
    X = rng.normal(size=(n, 20)) + 4 * np.eye(10, 20)[y] + (site == 3)[:, None]
    return X, np.where(site == 3, -1, y), site


# %%
# One map for all chunks: 200 landmarks, chosen on a first part that shows all sites. Then chunk
# after chunk goes by and is forgotten. The site without labels has a negative id: a chunk cannot
# know by itself that labels are missing everywhere.

X, y, site = samples(2000, seed=0)
model = SCA(n_components=9, feature_map=FrozenEstimator(LandmarkMap(200, random_state=0).fit(X)))
seconds, start = [], time.perf_counter()
for number in range(20):
    X, y, site = samples(5000, seed=number)
    model.partial_fit(X, y, sample_domain=np.where(site == 3, -4, site + 1))
    seconds.append(time.perf_counter() - start)
print(f"{5000 * len(seconds):,} samples in {seconds[-1]:.1f} seconds")

# %%
# Time is linear in the samples, and memory does not grow: what is kept is a few matrices of 200 ×
# 200.

figure, ax = plt.subplots(figsize=(5.5, 2.8), layout="constrained")
ax.plot(5 * np.arange(1, 21), seconds, marker="o", color="#3f90da")
ax.set(xlabel="thousands of samples", ylabel="seconds")
ax.spines[["top", "right"]].set_visible(False)

# %%
# The same moments, joined in another order, give the same components.

halves = [SCA(n_components=9, feature_map=model.feature_map) for _ in range(2)]
for number in range(20):
    X, y, site = samples(5000, seed=number)
    halves[number % 2].partial_fit(X, y, sample_domain=np.where(site == 3, -4, site + 1))
joined = halves[0].merge(halves[1])
print(np.abs(joined.eigenvalues_ / model.eigenvalues_ - 1).max())
