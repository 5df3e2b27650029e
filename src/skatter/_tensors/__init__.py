"""NumPy arrays and torch tensors, on the processor or on a GPU, behind the same few functions.

There are two kinds of arrays. *Tall* ones have a row for every sample and live where the samples
live: NumPy arrays, or torch tensors on any device. *Small* ones, with a row for every component or
class, are NumPy arrays on the host. The algebra is written once, in words that take both kinds; the
ones here make, move, check and multiply tall arrays, :mod:`skatter._solve.blas` has the rest.

torch is never imported before the user has imported it. Products of float32 tensors are computed
in float32 whatever short mode the user allows the matrix units elsewhere: eigenvectors live on
differences that ten bits do not show. Where matrix units pay, the largest products are sums of
three products of float16 halves, which hold 22 bits together (:mod:`skatter._tensors.halves`).
"""

from skatter._tensors.checks import (
    check_tensor,
    require_same_place,
)
from skatter._tensors.cholesky import (
    ALIGNED,
    TiledCholesky,
)
from skatter._tensors.eigen import (
    generalised_on_card,
    inverse_of_lower,
    leading_on_card,
    lower_on_card,
    reduced_on_card,
)
from skatter._tensors.kernels import (
    asymmetry,
    centre_gram,
    check_kernel,
    kernel_matrix,
)
from skatter._tensors.neighbours import (
    NeighbourGraph,
    median_squared_distance,
    nearest_neighbours,
    nearest_rows,
    spread_rows,
    squared_distances,
)
from skatter._tensors.places import (
    Array,
    Tall,
    ascending,
    copied,
    copied_rows,
    device_of,
    empty_columns,
    fortran,
    free_memory,
    host,
    host_dtype,
    hstack,
    identity,
    is_double,
    is_tensor,
    like,
    moved,
    on_card,
    random_columns,
    single,
    split_rows,
    strips,
    take,
    to_device,
    vstack,
    where,
)
from skatter._tensors.products import (
    full_precision,
    multiply,
    multiply_by_cell,
    orthonormalised,
    projections_on,
    second_moment,
    subtract_product,
)
from skatter._tensors.sums import (
    add_to_diagonal,
    column_dots,
    column_means,
    column_norms,
    moments_of_columns,
    squared_distances_to_mean,
    trace,
    unit_rows,
)

__all__ = [
    "ALIGNED",
    "Array",
    "NeighbourGraph",
    "Tall",
    "TiledCholesky",
    "add_to_diagonal",
    "ascending",
    "asymmetry",
    "centre_gram",
    "check_kernel",
    "check_tensor",
    "column_dots",
    "column_means",
    "column_norms",
    "copied",
    "copied_rows",
    "device_of",
    "empty_columns",
    "fortran",
    "free_memory",
    "full_precision",
    "generalised_on_card",
    "host",
    "host_dtype",
    "hstack",
    "identity",
    "inverse_of_lower",
    "is_double",
    "is_tensor",
    "kernel_matrix",
    "leading_on_card",
    "like",
    "lower_on_card",
    "median_squared_distance",
    "moments_of_columns",
    "moved",
    "multiply",
    "multiply_by_cell",
    "nearest_neighbours",
    "nearest_rows",
    "on_card",
    "orthonormalised",
    "projections_on",
    "random_columns",
    "reduced_on_card",
    "require_same_place",
    "second_moment",
    "single",
    "split_rows",
    "spread_rows",
    "squared_distances",
    "squared_distances_to_mean",
    "strips",
    "subtract_product",
    "take",
    "to_device",
    "trace",
    "unit_rows",
    "vstack",
    "where",
]
