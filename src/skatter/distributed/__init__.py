"""Dask: samples stay in their blocks, on whatever machine holds them; only small things travel.

Moments of two sets of samples add up to those of both (:mod:`skatter.moments`), so a cluster fits
what one machine fits. The room has four parts, in the order in which data passes through them:

- ``blocks``: a Dask array or DataFrame, and the labels and domains that go with its rows;
- ``labels``: which values are labels, told from the distinct ones alone;
- ``learn``: an estimator or the step of a pipeline, fitted on blocks;
- ``apply``: a fitted model, applied to blocks when they are asked for.

Dask is imported where it is used and not before: whoever has a Dask collection has Dask.
"""

from skatter.distributed.apply import apply_blocks, transform_dask
from skatter.distributed.blocks import is_dask
from skatter.distributed.learn import fit_dask

__all__ = ["apply_blocks", "fit_dask", "is_dask", "transform_dask"]
