"""
What β and δ do: a path through the solutions
=============================================

β moves the weight from total scatter to the scatter between classes, δ draws the domains
together. One Gram matrix and one Krylov space give the solutions of all settings, so looking at
thirty of them costs little more than one fit.
"""

import time

import numpy as np

from skatter import SCA
from skatter.datasets import load_digits_pair
from skatter.plots import plot_path, plot_spectrum, solve_path

digits = load_digits_pair()
rng = np.random.default_rng(0)
data = digits.take(rng.choice(len(digits.y), 800, replace=False))
y = np.where(data.domain == "mnist", data.y, -1)

# %%
# From left to right β grows, and classes move apart until nothing but their means counts. From
# top to bottom δ grows, and the two collections come together.

plot_path(data.X, y, data.domain, betas=[0, 0.1, 0.5, 1], deltas=[0, 1, 100])

# %%
# Seconds for one setting, and for thirty:

start = time.perf_counter()
one = SCA().fit(data.X, y, sample_domain=data.domain)
middle = time.perf_counter()
solve_path(data.X, y, data.domain, betas=[0, 0.1, 0.3, 0.5, 0.7, 0.9], deltas=[0, 0.1, 1, 10, 100])
end = time.perf_counter()
print(f"one setting {middle - start:.2f} s, thirty settings {end - middle:.2f} s")

# %%
# What each component is worth. Components are nested: the first five of a fit with eighteen are
# those of a fit with five.

plot_spectrum(one)
