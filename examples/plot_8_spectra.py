"""
A calibration moves to another spectrometer
===========================================

Somebody has measured 57 samples of sugar cane with a hand-held near-infrared spectrometer, and
their total sugar in the laboratory: with these a model is calibrated. Now there is another
spectrometer. It sees the same cane, but its spectra lie elsewhere, and nobody wants to pay for the
laboratory again. What is a model worth that was calibrated on the first one?

The data are of Zgouz et al. (2020) and Chaix et al. (2020), CC BY 4.0; a clone of skatter holds
them.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from skatter import DomainScaler, HedgedRegressor
from skatter.datasets import load_everyday_table

folders = [Path(start, "benchmarks", "data") for start in (".", "..")]
clone = next(filter(Path.exists, folders), None)  # None: where SKATTER_DATA says
cane = load_everyday_table("nir_sugarcane_sugar", data_home=clone)
wavelength = np.array(cane.columns, dtype=float)
source, target = "Tellspec", "Nirscan_nano"
here = np.isin(cane.domain, [source, target])
X, truth, instrument = cane.X[here], cane.y[here], cane.domain[here]
y = np.where(instrument == source, truth, np.nan)  # NaN is unknown

# %%
# Spectra before and after
# ------------------------
#
# Each line is a sample. On the left the spectra as they are: the instruments differ more than the
# samples do. On the right every wavelength has mean 0 and standard deviation 1 on each instrument
# (``DomainScaler``); numbers, NaN where unknown, tell it which instrument is the target.

colours = {source: "#9c9ca1", target: "#3f90da"}


def draw(ax, spectra, title):
    """Draw the spectra of both instruments."""
    for name, colour in colours.items():
        lines = ax.plot(wavelength, spectra[instrument == name].T, color=colour, lw=0.6, alpha=0.6)
        lines[0].set_label(name)
    ax.set(title=title, xlabel="wavelength [nm]")
    ax.spines[["top", "right"]].set_visible(False)


figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
draw(axes[0], X, "Before")
draw(axes[1], DomainScaler().fit_transform(X, y, sample_domain=instrument), "Scaled in each domain")
axes[0].set_ylabel("absorbance")
axes[0].legend(frameon=False)

# %%
# Predict
# -------
#
# ``HedgedRegressor`` averages regressors that see the spectra as they are and others that see them
# scaled on each instrument. It weighs them without a label of the target, and says what to expect
# there. Its ``champion_`` is the best plain regressor on held-out labels of the first instrument.

model = HedgedRegressor().fit(X, y, sample_domain=instrument)
print(model.judgement_)
for member in model.members_:
    print(f"{member.name:14}{member.scaling:8}weight {member.weight:.2f}")

# %%
# Now the truth, which the models have not seen. Bars are the intervals that should hold nine in
# ten of the labels.

new = instrument == target
plain = model.champion_.predict(X[new])
adapted = model.predict(X[new], sample_domain=instrument[new])
low, high = model.predict_interval(X[new], sample_domain=instrument[new]).T


def error(predicted):
    """Root mean squared error on the target."""
    return np.sqrt(np.mean((predicted - truth[new]) ** 2))


# sphinx_gallery_thumbnail_number = 2
figure, axes = plt.subplots(1, 2, figsize=(9, 4), sharex=True, sharey=True, layout="constrained")
names = (f"Champion ({model.champion_.champion_})", "HedgedRegressor")
for ax, name, predicted in zip(axes, names, (plain, adapted), strict=True):
    ax.axline((0, 0), slope=1, color="#9c9ca1", lw=1, ls="--")
    ax.scatter(truth[new], predicted, s=16, color="#3f90da", zorder=2)
    ax.set(title=f"{name}: error {error(predicted):.1f}", xlabel="total sugar, laboratory [%]")
    ax.spines[["top", "right"]].set_visible(False)
axes[1].vlines(truth[new], low, high, color="#3f90da", lw=0.8, alpha=0.4)
axes[0].set_ylabel("predicted [%]")

held = np.mean((low <= truth[new]) & (truth[new] <= high))
print(f"champion {error(plain):.1f}, hedge {error(adapted):.1f}, the mean {truth[new].std():.1f}")
print(f"{held:.0%} of the labels lie in their interval")

# %%
# What cannot be seen
# -------------------
#
# Both instruments measured the same cane. Had the second one seen a sweeter field, scaling would
# have taken that for a shift of the instrument: without labels nobody can tell the two apart. Ten
# samples in the laboratory show it, and the model corrects most of it.

rng = np.random.default_rng(0)
few = rng.choice(np.flatnonzero(new), 10, replace=False)
sweeter = truth + 20.0 * new  # as if all cane of the target had 20 % more
known = np.where(new, np.nan, truth)
rest = np.setdiff1d(np.flatnonzero(new), few)
for labels in (0, 10):
    known[few[:labels]] = sweeter[few[:labels]]
    again = HedgedRegressor().fit(X, known, sample_domain=instrument)
    missed = again.predict(X[rest], sample_domain=instrument[rest]) - sweeter[rest]
    print(
        f"{labels:2} labels: off by {missed.mean():+.1f} on average. {again.judgement_.about_mean}"
    )
