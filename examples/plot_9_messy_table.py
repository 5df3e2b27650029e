"""
The first half hour with a messy table
======================================

A chain knows which bookings of its city hotel were cancelled. For its resort hotel it has bookings
alone. The table comes from people: prices with a currency, shares with a percent sign, codes that
should not be added up, gaps that are called "n/a", and a column that gives the label away. This
page goes from the file to a decision.

The data are of Antonio et al. (2019), CC BY 4.0, and a clone of skatter holds them; the mess is
ours.
"""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from skatter import adapt, ask, diagnose
from skatter.datasets import load_everyday_table
from skatter.tables import read_table

folders = [Path(start, "benchmarks", "data") for start in (".", "..")]
clone = next(filter(Path.exists, folders), None)  # None: where SKATTER_DATA says
hotels = load_everyday_table("hotel_cancellation", data_home=clone)
rng = np.random.default_rng(0)
rows = np.concatenate(
    [
        rng.choice(np.flatnonzero(hotels.domain == name), 400, replace=False)
        for name in ("City-2016", "Resort-2016")
    ]
)
values = pd.DataFrame(hotels.X[rows], columns=hotels.columns)
hotel = np.where(hotels.domain[rows] == "City-2016", "city", "resort")
cancelled = np.where(hotels.y[rows] == 1, "yes", "no")

# %%
# The table as people send it
# ---------------------------

messy = pd.DataFrame(
    {
        "booking": [f"B{number:05d}" for number in rng.permutation(len(rows))],
        "hotel": hotel,
        "cancelled": np.where(hotel == "city", cancelled, ""),
        "refund code": np.where((hotel == "city") & (cancelled == "yes"), "R1", ""),
        "price": [f"€{value:,.2f}" for value in values["adr"]],
        "lead time": np.where(
            rng.random(len(rows)) < 0.1, "n/a", values["lead_time"].astype(int).astype(str)
        ),
        "weekend share": [
            f"{100 * weekend / max(weekend + week, 1):.0f}%"
            for weekend, week in zip(
                values["stays_in_weekend_nights"], values["stays_in_week_nights"], strict=True
            )
        ],
        "segment": values["market_segment"].astype(int),
        "deposit": values["deposit_type"].astype(int),
        "requests": values["total_of_special_requests"].astype(int),
        "changes": values["booking_changes"].astype(int),
        "parking": values["required_car_parking_spaces"].astype(int),
    }
)
folder = Path(tempfile.mkdtemp())
messy.to_csv(folder / "bookings.csv", index=False)
messy.head()

# %%
# Is there a shift?
# -----------------
#
# ``na_values`` says what stands for a gap, ``categorical`` which columns are codes.

table = read_table(folder / "bookings.csv", na_values=["n/a"])
codes = ["segment", "deposit"]
print(diagnose(table, label="cancelled", domain="hotel", categorical=codes))

# %%
# What are the labels over there?
# -------------------------------
#
# The code of a refund is filled in only where a booking was cancelled, and never for the resort: it
# is left out, with a word. So are the numbers of the bookings.

result = adapt(table, label="cancelled", domain="hotel", categorical=codes)
print(result)

# %%
# Every column, and what became of it:

for plan in result.columns:
    print(plan)

# %%
# The answers are in the table, beside the confidence in each.

result.predictions.filter(like="cancelled").tail()

# %%
# What would settle it?
# ---------------------
#
# Forty rows, picked so that their labels tell the two models apart. In real life somebody looks
# them up and fills them in.

sheet = ask(table, label="cancelled", domain="hotel", categorical=codes).sheet
sheet["cancelled"] = cancelled[sheet["row"] - 1]
settled = adapt(table, label="cancelled", domain="hotel", categorical=codes, checked=sheet)
print(settled.by_labels)

# %%
# How good was it? Only now the truth of all rows is looked at.

resort = hotel == "resort"
for name, answer in (("before the forty labels", result), ("after", settled)):
    said = answer.predictions.loc[resort, f"{answer.ship}_cancelled"]
    print(f"{name}: the {answer.ship} model, {np.mean(said == cancelled[resort]):.1%} right")
