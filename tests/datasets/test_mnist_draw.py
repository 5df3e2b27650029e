"""Draws of digits: by seed, without repetition; the files here are tiny ones of their format."""

from __future__ import annotations

import gzip
import struct
from dataclasses import replace
from functools import reduce

import numpy as np
import pytest
from tiny_files import known

from skatter.datasets import _mnist_draw as mnist_draw
from skatter.datasets import draw_mnist_usps
from skatter.datasets._mnist_draw import read_idx, resize

N_MNIST, N_USPS = 40, 30
IMAGES = np.random.default_rng(0).integers(0, 256, size=(N_MNIST, 28, 28), dtype=np.uint8)
MNIST_Y = (np.arange(N_MNIST) % 10).astype(np.uint8)
MILLI = np.random.default_rng(1).integers(-1000, 1001, size=(N_USPS, 256)).astype(np.int16)
USPS_Y = (np.arange(N_USPS) % 10).astype(np.uint8)


def idx(array):
    header = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
    return header + array.tobytes()


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A data home with 40 digits of MNIST and 30 of USPS, which the loader knows."""
    source = mnist_draw.SOURCE
    folder = tmp_path / source.folder
    folder.mkdir()
    paths = {key: folder / file.name for key, file in source.files.items()}
    paths["images"].write_bytes(gzip.compress(idx(IMAGES)))
    paths["labels"].write_bytes(gzip.compress(idx(MNIST_Y)))
    np.savez(paths["usps"], X_milli=MILLI, y=USPS_Y, is_test=np.zeros(N_USPS, dtype=bool))
    files = {key: known(path) for key, path in paths.items()}
    monkeypatch.setattr(mnist_draw, "SOURCE", replace(source, files=files))
    return tmp_path


def draw(home, **options):
    return draw_mnist_usps(data_home=home, **({"n_mnist": 12, "n_usps": 9} | options))


def rows_of(data, domain, every):
    """Which of all digits each drawn one is, by its pixels."""
    drawn = data.of([domain]).X
    return np.array([np.flatnonzero((every == each).all(axis=1)).item() for each in drawn])


@pytest.fixture
def everything(home):
    data = draw(home, n_mnist=N_MNIST, n_usps=N_USPS)
    return {name: data.of([name]).X for name in ("mnist", "usps")}


def bicubic_slowly(image, side):
    """Pixel by pixel, from the definition of the kernel."""
    scale = len(image) / side

    def kernel(t):
        t = abs(t)
        if t < 1:
            return 1.5 * t**3 - 2.5 * t**2 + 1
        return -0.5 * t**3 + 2.5 * t**2 - 4 * t + 2 if t < 2 else 0.0

    out = np.zeros((side, side))
    for i in range(side):
        for j in range(side):
            total = 0.0
            for a in range(len(image)):
                for b in range(len(image)):
                    weight = kernel((a + 0.5) / scale - i - 0.5) * kernel(
                        (b + 0.5) / scale - j - 0.5
                    )
                    total += weight
                    out[i, j] += weight * image[a, b]
            out[i, j] /= total
    return out.clip(0, 1)


# --- the images -----------------------------------------------------------------------------------


def test_drawing_all_digits_gives_the_files_in_their_order(home):
    data = draw(home, n_mnist=N_MNIST, n_usps=N_USPS)
    np.testing.assert_allclose(data.X[N_MNIST:], (MILLI / 1000 + 1) / 2, atol=1e-15)
    np.testing.assert_allclose(
        data.X[3].reshape(16, 16), bicubic_slowly(IMAGES[3] / 255, 16), atol=1e-12
    )
    assert data.y.tolist() == [*MNIST_Y.tolist(), *USPS_Y.tolist()]
    assert data.domain.tolist() == ["mnist"] * N_MNIST + ["usps"] * N_USPS
    assert data.class_names == tuple("0123456789")
    assert data.name == "mnist_usps_draw"
    assert [name in data.citation for name in ("LeCun", "Hull")] == [True] * 2


def test_resized_images_agree_with_an_imaging_library(require):
    image = require("PIL.Image")
    expected = [
        image.fromarray(each.astype(np.float32)).resize((16, 16), image.Resampling.BICUBIC)
        for each in IMAGES[:5]
    ]
    found = resize(IMAGES[:5] / 255, 16)
    np.testing.assert_allclose(found, np.clip(np.array(expected) / 255, 0, 1), atol=1e-5)


def test_rows_get_unit_length_where_asked_for(home):
    raw, unit = draw(home), draw(home, preprocess=True)
    norms = np.sqrt(np.sum(raw.X**2, axis=1, keepdims=True))
    np.testing.assert_allclose(unit.X, raw.X / norms, atol=1e-15)
    assert "Euclidean norm" in unit.preprocessing
    assert "nothing else" in raw.preprocessing
    assert "bicubic" in raw.preprocessing


# --- the draw -------------------------------------------------------------------------------------


def test_no_digit_is_drawn_twice_and_labels_follow(home, everything):
    data = draw(home, random_state=5)
    for name, labels, n in (("mnist", MNIST_Y, 12), ("usps", USPS_Y, 9)):
        rows = rows_of(data, name, everything[name])
        assert len(set(rows.tolist())) == n
        assert (np.diff(rows) > 0).all()
        np.testing.assert_array_equal(data.of([name]).y, labels[rows])


def test_the_same_seed_draws_the_same_digits_and_another_others(home):
    first, again, other = (draw(home, random_state=k) for k in (3, 3, 4))
    np.testing.assert_array_equal(first.X, again.X)
    for name in ("mnist", "usps"):
        assert not np.array_equal(first.of([name]).X, other.of([name]).X)


def test_the_draw_of_a_domain_does_not_depend_on_the_size_of_the_other(home):
    some, more = draw(home, n_mnist=5), draw(home, n_mnist=20)
    np.testing.assert_array_equal(some.of(["usps"]).X, more.of(["usps"]).X)


def test_none_as_a_seed_draws_afresh(home):
    draws = [draw(home, random_state=None).X.tobytes() for _ in range(3)]
    assert len(set(draws)) > 1


def test_draws_do_not_look_at_the_classes(home):
    # 10 of 40 digits, 4 of each class: a draw by class would take one of each, always.
    seen = {
        tuple(np.bincount(draw(home, n_mnist=10, random_state=k).y[:10], minlength=10).tolist())
        for k in range(20)
    }
    assert len(seen) > 10


def test_all_digits_are_drawn_sooner_or_later(home, everything):
    drawn = [
        set(rows_of(draw(home, random_state=k), "mnist", everything["mnist"])) for k in range(40)
    ]
    assert reduce(set.union, drawn) == set(range(N_MNIST))


@pytest.mark.parametrize(("name", "there"), [("n_mnist", N_MNIST), ("n_usps", N_USPS)])
def test_more_digits_than_there_are_cannot_be_drawn(home, name, there):
    with pytest.raises(ValueError, match=f"{name} must be at most {there}, .* got {there + 1}"):
        draw(home, **{name: there + 1})


@pytest.mark.parametrize("name", ["n_mnist", "n_usps"])
def test_no_digits_cannot_be_drawn(tmp_path, name):
    with pytest.raises(ValueError, match=f"{name} must be at least 1"):
        draw(tmp_path, **{name: 0})


# --- bad files ------------------------------------------------------------------------------------

WHOLE = idx(IMAGES[:2])


@pytest.mark.parametrize(
    "content",
    [b"", b"\0\0\x08", WHOLE[:10], WHOLE[:-1], WHOLE + b"\0", b"\0\0\x0d" + WHOLE[3:]],
    ids=["empty", "magic", "header", "short", "long", "other type"],
)
def test_what_is_no_whole_idx_file_is_refused(tmp_path, content):
    path = tmp_path / "digits.gz"
    path.write_bytes(gzip.compress(content))
    with pytest.raises(ValueError, match=r"digits\.gz holds no whole array"):
        read_idx(path)


@pytest.mark.parametrize("cut", [slice(0, 40), slice(5, None)], ids=["cut off", "no gzip"])
def test_a_broken_gzip_file_is_refused(tmp_path, cut):
    path = tmp_path / "digits.gz"
    path.write_bytes(gzip.compress(WHOLE)[cut])
    with pytest.raises(ValueError, match=r"digits\.gz cannot be read as a \.gz file"):
        read_idx(path)


def test_idx_files_of_any_dimension_are_read(tmp_path):
    path = tmp_path / "digits.gz"
    for array in (IMAGES, MNIST_Y):
        path.write_bytes(gzip.compress(idx(array)))
        np.testing.assert_array_equal(read_idx(path), array)


def test_a_missing_file_of_mnist_is_offered_for_download_and_that_of_usps_is_not(tmp_path):
    with pytest.raises(FileNotFoundError, match="usps_zip") as caught:
        draw_mnist_usps(data_home=tmp_path, download_if_missing=True)
    assert "downloads it" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []
    assert [bool(file.url) for file in mnist_draw.SOURCE.files.values()] == [True, True, False]
