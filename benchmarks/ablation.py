"""Measure what each part of SCAClassifier is worth, and what SCA's own scatters and scaling are.

    SKATTER_DATA=FOLDER python benchmarks/ablation.py [--out FOLDER] [--docs PAGE]
    python benchmarks/ablation.py --out FOLDER --draw PICTURE

Every variant differs from the defaults in one thing. Tasks are those of benchmarks/criteria.py,
four of each data set at most, with at most 400 samples of each domain. Labels of a target score,
and nothing else. What was measured is kept in the JSON file: a run goes on where it was stopped,
and --draw draws it without measuring anything.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from criteria import Samples, draw, insert, suites
from problems import machine
from skatter import SCA, SCAClassifier, make_domain_pipeline
from skatter._files import write_atomically
from skatter.plots._canvas import AFTER_COLOUR, QUIET, add_note, new_figure, open_frame
from skatter.self_training._voters import VOTERS

DATA = ("surf", "effnet", "mnist_usps", "msrc_voc", "digits", "amazon", "pacs")
MOST = 4
WHOLE = ("SCAClassifier", "SCA")
"""What the variants of a group differ from in one thing."""


def one_shot(**options: Any) -> Any:
    """SCA and the nearest neighbour."""
    return make_domain_pipeline(SCA(**options), KNeighborsClassifier(1))


def trained(delta: float = 0.0, conditional: float = 1.0, **weights: Any) -> SCAClassifier:
    return SCAClassifier(SCA(delta=delta, conditional_delta=conditional, **weights))


VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "Self-training": {
        "SCAClassifier": SCAClassifier(),
        "one round apart": SCAClassifier(n_rounds=1),
        "ten rounds apart": SCAClassifier(n_rounds=10),
        "no rounds together": SCAClassifier(n_rounds_together=0),
        "all predictions believed": SCAClassifier(confidence=1e-9),
        "samples as they are only": SCAClassifier(scalings=["none"]),
        "scaled in domains only": SCAClassifier(scalings=["domain"]),
        "ridge 1e-3 only": SCAClassifier(ridges=[1e-3]),
        "ridge 1e-2 only": SCAClassifier(ridges=[1e-2]),
        "no conditional domain scatter": trained(conditional=0.0),
        "domain scatter instead": trained(delta=1.0, conditional=0.0),
        "domain scatter as well": trained(delta=1.0),
        "no between-class scatter": trained(beta=0.0),
        **{f"{name} alone": SCAClassifier(voters=[name]) for name in VOTERS},
    },
    "SCA and the nearest neighbour": {
        "nearest neighbour": make_domain_pipeline(KNeighborsClassifier(1)),
        "SCA": one_shot(),
        "no between-class scatter (β = 0)": one_shot(beta=0.0),
        "no total scatter (β = 1)": one_shot(beta=1.0),
        "no domain scatter (δ = 0)": one_shot(delta=0.0),
        "ridge 1e-2": one_shot(ridge=1e-2),
        "scaled by Λ^-½ (printed)": one_shot(scale="numerator"),
        "not scaled": one_shot(scale="denominator"),
        "sums and means mixed (printed)": one_shot(normalize=False),
        "both as printed": one_shot(normalize=False, scale="numerator"),
    },
}


def accuracy(model: Any, samples: Samples) -> float:
    """Percent of the target's samples predicted right."""
    domains = samples.domains
    site = domains.domain_ids[domains.domain]
    y = np.maximum(domains.label, 0)
    model.fit(samples.X, y, sample_domain=site, labelled=domains.labelled)
    X = samples.X[samples.target]
    return 100 * float(np.mean(model.predict(X) == samples.truth))


def measure(store: Path | None) -> dict[str, Any]:
    """Return accuracies by variant, data set and task."""
    found = json.loads(store.read_text()) if store is not None and store.exists() else {}
    for name, (_, tasks) in suites().items():
        for task in tasks[:MOST] if name in DATA else ():
            samples = draw(task)
            for variants in VARIANTS.values():
                for variant, model in variants.items():
                    scores = found.setdefault(variant, {}).setdefault(name, {})
                    if task.name not in scores:
                        scores[task.name] = accuracy(model, samples)
            if store is not None:
                keep(store, found)
            print(name, task.name, flush=True)
    return found


def keep(store: Path, found: dict[str, Any]) -> None:
    """Write the file whole or not at all."""
    write_atomically(store, lambda part: part.write_text(json.dumps(found, indent=1)))


def means(found: dict[str, Any], variant: str) -> Any:
    """Return the mean accuracy on each data set."""
    return np.array([np.mean(list(found[variant][name].values())) for name in DATA])


def lost(found: dict[str, Any], variants: Mapping[str, Any]) -> dict[str, Any]:
    """Return what each variant of a group loses on each data set, the greatest mean loss first."""
    whole = next(name for name in variants if name in WHOLE)
    losses = {name: means(found, whole) - means(found, name) for name in variants if name != whole}
    return dict(sorted(losses.items(), key=lambda item: -item[1].mean()))


def table(found: dict[str, Any]) -> list[str]:
    """Means by data set; behind each variant what it costs or gains, all sets alike."""
    titles = {name: title.removesuffix(" *") for name, (title, _) in suites().items()}
    lines = []
    for heading, variants in VARIANTS.items():
        lines += [
            f"| {heading} | mean | change | " + " | ".join(titles[name] for name in DATA) + " |",
            "| :--- | ---: | ---: |" + " ---: |" * len(DATA),
        ]
        base = means(found, next(name for name in variants if name in WHOLE)).mean()
        for variant in variants:
            own = means(found, variant)
            cells = " | ".join(f"{value:.2f}" for value in own)
            lines.append(f"| {variant} | {own.mean():.2f} | {own.mean() - base:+.2f} | {cells} |")
        lines.append("")
    return lines


def draw_losses(found: dict[str, Any], path: Path) -> None:
    """Draw the points that each variant loses: a bar for the mean, a dot for each data set."""
    groups = {heading: lost(found, variants) for heading, variants in VARIANTS.items()}
    sizes = [len(losses) for losses in groups.values()]
    figure = new_figure(figsize=(8.5, 0.29 * sum(sizes) + 2.2))
    axes = figure.subplots(len(groups), 1, sharex=True, height_ratios=[n + 1 for n in sizes])
    for ax, variants, losses in zip(axes, VARIANTS.values(), groups.values(), strict=True):
        whole = next(name for name in variants if name in WHOLE)
        draw_group(ax, losses)
        title = f"{whole}, {means(found, whole).mean():.1f} % on average, with one thing changed"
        ax.set_title(title, loc="left", fontsize="medium")
    axes[-1].set_xlabel("points of accuracy lost (left of the line: gained)")
    add_note(figure, f"Bars and numbers: mean of {len(DATA)} data sets. Dots: each data set.")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)


def draw_group(ax: Any, losses: dict[str, Any]) -> None:
    rows, values = np.arange(len(losses)), np.array(list(losses.values()))
    mean = values.mean(axis=1)
    colours = np.where(mean > 0, AFTER_COLOUR, "#e2a93b").tolist()
    ax.barh(rows, mean, 0.62, color=colours)
    ax.plot(
        values, np.broadcast_to(rows[:, None], values.shape), "o", ms=3.5, mfc="white", mec=QUIET
    )
    beside = {"transform": ax.get_yaxis_transform(), "ha": "right", "va": "center", "size": 9}
    for row, value in zip(rows, mean, strict=True):
        ax.text(1.05, row, f"{value:.1f}".replace("-", "−"), **beside)
    ax.set_yticks(rows, list(losses))
    ax.set_ylim(len(losses) - 0.4, -0.6)
    ax.axvline(0, color=QUIET, linewidth=1)
    open_frame(ax, grid="x")
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0, colors="0.15")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="folder of ablation.md and ablation.json")
    parser.add_argument("--docs", type=Path, help="page that holds the table")
    parser.add_argument("--draw", type=Path, help="picture of ablation.json; nothing is measured")
    options = parser.parse_args()
    store = None if options.out is None else options.out / "ablation.json"
    if options.draw is not None:
        if store is None or not store.exists():
            parser.error("--draw needs --out with the folder of an ablation.json")
        draw_losses(json.loads(store.read_text()), options.draw)
        return
    found = measure(store)
    lines = [f"{machine()}. At most 400 samples of each domain.", "", *table(found)]
    print("\n".join(lines))
    if options.out is not None:
        text = "# What each part is worth\n\nMade by `benchmarks/ablation.py`. "
        (options.out / "ablation.md").write_text(text + "\n".join(lines))
    if options.docs is not None:
        insert(options.docs, "ablation", lines, "ablation")


if __name__ == "__main__":
    main()
