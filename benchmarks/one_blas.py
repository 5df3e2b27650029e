"""Measure what it costs to mix the BLAS of NumPy with that of SciPy in one loop.

    python benchmarks/one_blas.py

One step of block Lanczos (a product with K, a triangular solve, an orthogonalisation), with the
products by NumPy's ``@`` and by SciPy's BLAS; solves and QR are SciPy's in both.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np
from scipy.linalg import qr
from threadpoolctl import threadpool_limits

from problems import machine
from skatter._solve.blas import cholesky_in_place, cholesky_solve, dot, subtract_dot

N, N_LABELLED, WIDTH, SIZE, STEPS = 3800, 1800, 16, 300, 40


def step_mixed(K, factor, V, W):
    image = K @ W
    cholesky_solve(factor, np.array(image[:N_LABELLED], order="F"))
    image -= V @ (V.T @ image)
    qr(image, mode="economic", check_finite=False)


def step_scipy(K, factor, V, W):
    image = dot(K, W)
    cholesky_solve(factor, np.array(image[:N_LABELLED], order="F"))
    image = subtract_dot(image, V, dot(V.T, image))
    qr(image, mode="economic", check_finite=False)


def milliseconds(step, *arrays) -> float:
    times = []
    for _ in range(STEPS):
        start = perf_counter()
        step(*arrays)
        times.append(perf_counter() - start)
    return 1000 * float(np.median(times))


def main() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 200))
    K = X @ X.T / 200
    factor = cholesky_in_place(np.asfortranarray(K[:N_LABELLED, :N_LABELLED] + np.eye(N_LABELLED)))
    V = np.asfortranarray(np.linalg.qr(rng.normal(size=(N, SIZE)))[0])
    W = np.asfortranarray(rng.normal(size=(N, WIDTH)))
    print(machine())
    for n_threads in (1, 2):
        with threadpool_limits(n_threads):
            mixed = milliseconds(step_mixed, K, factor, V, W)
            scipy_only = milliseconds(step_scipy, K, factor, V, W)
        print(
            f"{n_threads} BLAS threads: mixed {mixed:.0f} ms, SciPy alone {scipy_only:.0f} ms, "
            f"ratio {mixed / scipy_only:.1f}"
        )


if __name__ == "__main__":
    main()
