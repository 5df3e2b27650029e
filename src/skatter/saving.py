"""Models in files: saved and loaded without pickle, checked before anything is built.

A model file is a zip archive as skops writes it (arrays as ``.npy``, the rest as JSON), with a
member ``skatter.json`` that says what the model is. Before a file is loaded, four things are
checked:

1. *whole*: the file ends with the SHA-256 of all that comes before;
2. *plain*: members are stored, not compressed, so that no small file unpacks into a large one;
3. *known loaders*: nothing in it asks for a call of a function, a method or an operator;
4. *known types*: each is a class of :data:`TRUSTED`, or one of scikit-learn and NumPy that skops
   trusts.

The checksum guards against damage and not against malice: whoever changes a file may write a new
one. What a changed file can hold is limited by the last two.
"""

from __future__ import annotations

import hashlib
import io
import json
import platform
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import InconsistentVersionWarning

from skatter.methods import METHODS
from skatter.tables import check_target, write_atomically

__all__ = ["TRUSTED", "ModelFileError", "describe_model", "load_model", "save_model"]

FORMAT = 1
"""Of the member ``skatter.json``."""

ABOUT = "skatter.json"
SCHEMA = "schema.json"
DIGEST = 64
"""Characters of a SHA-256 in hexadecimal, the comment at the end of the archive."""

LOADERS = frozenset(
    {
        "CachedNode",
        "DTypeNode",
        "DictNode",
        "JsonNode",
        "ListNode",
        "MaskedArrayNode",
        "NdArrayNode",
        "ObjectNode",
        "RandomStateNode",
        "SetNode",
        "SliceNode",
        "TupleNode",
        "TypeNode",
    }
)
"""Ways of skops to build a part: containers, arrays and objects by their state, and no calls."""

_BESIDE_THE_METHODS = (
    "skatter.adaptation.model.TableModel",
    "skatter.class_span.ClassSpan",
    "skatter.components._MappedLinear",
    "skatter.hedging.champion.CalibratedSVC",
    "skatter.hedging.champion.Contender",
    "skatter.hedging.error.NumberJudgement",
    "skatter.hedging.expectation.Judgement",
    "skatter.hedging.members.Member",
    "skatter.hedging.number_champion.ChampionRegressor",
    "skatter.hedging.number_champion.KernelRidgeCV",
    "skatter.hedging.regressor.HedgedRegressor",
    "skatter.kernels.Kernel",
    "skatter.maps.LandmarkMap",
    "skatter.methods.coral.FullPower",
    "skatter.methods.coral.ThinPower",
    "skatter.methods.easy_adapt._Copies",
    "skatter.methods.hfa._Side",
    "skatter.methods.marginal_kernel.MeanEmbeddings",
    "skatter.methods.neighbourhood.Neighbourhood",
    "skatter.neighbours.NearestNeighbour",
    "skatter.pipeline.DomainPipeline",
    "skatter.principal.PrincipalMap",
    "skatter.scaling.DomainScaler",
    "skatter.scatter.geometry.Scatters",
    "skatter.selection.asking.Estimate",
    "skatter.selection.search.SCACV",
    "skatter.self_training.classifier.Candidate",
    "skatter.self_training.classifier._Path",
    "skatter.self_training.rounds.Round",
    "skatter.support_vectors.SupportVectors",
    "skatter.trees.BoostingClassifier",
    "skatter.trees.BoostingRegressor",
    "skatter.trees.ForestClassifier",
    "skatter.trees.ForestRegressor",
    "skatter.trees.TreeEnsemble",
)

TRUSTED: tuple[str, ...] = (
    *sorted(f"{each.estimator.__module__}.{each.estimator.__name__}" for each in METHODS.values()),
    *_BESIDE_THE_METHODS,
    "numpy.dtype",  # read from an empty array
    "sklearn.compose._column_transformer._RemainderColsList",  # of scikit-learn 1.6: a list
)
"""Types that a model file may hold beside what skops trusts: the methods, and what they keep."""

_OUR_TREES = "use skatter.trees.ForestClassifier or BoostingClassifier"

_REMEDIES = {
    "sklearn.neighbors._kd_tree.KDTree": "build the neighbours with algorithm='brute'",
    "sklearn.neighbors._ball_tree.BallTree": "build the neighbours with algorithm='brute'",
    "SparseMatrixNode": "give the model dense samples",
    "TreeNode": _OUR_TREES,
    "sklearn._loss._loss.CyHalfBinomialLoss": _OUR_TREES,  # of boosting
    "sklearn._loss._loss.CyHalfMultinomialLoss": _OUR_TREES,
}
"""What to do about parts whose numbers say where to read: wrong ones crash the interpreter."""


class ModelFileError(ValueError):
    """A model that cannot be saved, or a file that is refused; one line says why."""


def save_model(model: Any, path: str | Path, *, force: bool = False) -> Path:
    """Save a fitted model; what :func:`load_model` would refuse is refused here.

    Parameters
    ----------
    model : estimator
        A method of the registry, a pipeline, or what :func:`skatter.adaptation.adapt` returns as
        ``model``. Its method ``describe``, if it has one, returns what is kept about it.
    path : str or Path
        The file to write, as a whole or not at all; ``.skops`` is the usual ending.
    force : bool
        Overwrite a file that exists.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    ModelFileError
        Where the model holds something that may not be loaded, such as a function of the user's.

    Examples
    --------
    >>> import tempfile
    >>> from skatter import SCA
    >>> from skatter.saving import load_model, save_model
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [3.0, 4.0], [4.0, 3.0]], ["a", "a", "b", "b"]
    >>> model = SCA(1).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = load_model(save_model(model, f"{folder}/model.skops"))
    >>> bool((again.transform(X) == model.transform(X)).all())
    True
    """
    target = check_target(path, force=force, name="path")
    data = _pack(model)
    with _opened(data, target) as archive:
        _check_types(data, archive, f"{type(model).__name__} cannot be saved")
    write_atomically(target, lambda part: part.write_bytes(data))
    return target


def load_model(path: str | Path) -> Any:
    """Load a model that :func:`save_model` wrote; nothing is built unless all of it is known.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    estimator
        The fitted model. It predicts what it predicted before it was saved, to the last bit.

    Raises
    ------
    ModelFileError
        Where the file is damaged, is no model file, or holds a type that is not trusted.

    Warns
    -----
    UserWarning
        Where it was saved with another version of skatter or scikit-learn.
    """
    data = _read(path)
    with _opened(data, path) as archive:
        _warn_of_versions(_about(archive, path), path)
        _check_types(data, archive, f"{path} is refused")
    with warnings.catch_warnings():
        # Said once above, and not by every estimator inside.
        warnings.simplefilter("ignore", InconsistentVersionWarning)
        try:
            return _skops().loads(data, trusted=list(TRUSTED))
        # A file made to mislead may fail in any way on its way through three libraries.
        except Exception as error:
            raise ModelFileError(
                f"{path} is refused: its contents make no model ({_one_line(error)})."
            ) from error


def describe_model(path: str | Path) -> dict[str, Any]:
    """Return what is known of a saved model, without loading it.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    dict
        ``created_by``, ``versions``, ``model`` (its type), ``columns`` and ``classes`` where it
        has some, and what the model says of itself.
    """
    with _opened(_read(path), path) as archive:
        return _about(archive, path)


# --- writing --------------------------------------------------------------------------------------


def _pack(model: Any) -> bytes:
    """Return the archive: what skops makes of the model, what it is, and the checksum of both."""
    skops = _skops()
    try:
        data = io.BytesIO(skops.dumps(model, compression=zipfile.ZIP_STORED))
    except Exception as error:
        raise ModelFileError(
            f"{type(model).__name__} cannot be saved: {_one_line(error)}."
        ) from error
    with zipfile.ZipFile(data, "a", compression=zipfile.ZIP_STORED) as archive:
        archive.writestr(ABOUT, json.dumps(_describe(model), indent=2))
        archive.comment = b"0" * DIGEST
    content = data.getvalue()[:-DIGEST]
    return content + hashlib.sha256(content).hexdigest().encode()


def _describe(model: Any) -> dict[str, Any]:
    about = {
        "format": FORMAT,
        "created_by": f"skatter {version('skatter')}",
        "versions": _versions(),
        "model": _name_of(type(model)),
    }
    for key, attribute in (("columns", "feature_names_in_"), ("classes", "classes_")):
        if hasattr(model, attribute):
            about[key] = np.asarray(getattr(model, attribute)).tolist()
    own = model.describe() if hasattr(model, "describe") else {}
    return {**about, **own}


def _versions() -> dict[str, str]:
    names = ("skatter", "scikit-learn", "numpy", "scipy", "skops")
    return {"python": platform.python_version(), **{name: version(name) for name in names}}


def _name_of(kind: type) -> str:
    return f"{kind.__module__}.{kind.__name__}"


# --- reading --------------------------------------------------------------------------------------


def _read(path: str | Path) -> bytes:
    """Return the bytes of a file that is whole."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {error.strerror}.") from error
    if not data.startswith(b"PK"):
        raise ModelFileError(
            f"{path} is no model file of skatter: it is no zip archive. Save models with "
            "skatter.saving.save_model, or skatter adapt --model."
        )
    if hashlib.sha256(data[:-DIGEST]).hexdigest().encode() != data[-DIGEST:]:
        raise ModelFileError(
            f"{path} is damaged, or was not saved by skatter: its checksum does not match its "
            "contents. Save the model again."
        )
    return data


def _opened(data: bytes, path: str | Path) -> zipfile.ZipFile:
    """Open an archive that unpacks into no more than it is."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, ValueError, OSError) as error:
        raise ModelFileError(f"{path} is no model file of skatter: {_one_line(error)}.") from error
    members = archive.infolist()
    packed = any(each.compress_type != zipfile.ZIP_STORED for each in members)
    names = [each.filename for each in members]
    if packed or sum(each.file_size for each in members) > len(data):
        raise ModelFileError(
            f"{path} is refused: its members are compressed, and those of a model are not."
        )
    if len(set(names)) < len(names) or not {SCHEMA, ABOUT} <= set(names):
        raise ModelFileError(
            f"{path} is no model file of skatter: {SCHEMA} and {ABOUT} must each be there once."
        )
    return archive


def _about(archive: zipfile.ZipFile, path: str | Path) -> dict[str, Any]:
    about = _json(archive, ABOUT, f"{path} is damaged")
    if about.get("format") != FORMAT or not isinstance(about.get("versions"), Mapping):
        raise ModelFileError(
            f"{path} has format {about.get('format')!r}, and this version of skatter reads "
            f"{FORMAT}. Load it with the version that saved it."
        )
    return about


def _json(archive: zipfile.ZipFile, name: str, where: str) -> dict[str, Any]:
    try:
        found = json.loads(archive.read(name))
    except (ValueError, RecursionError, zipfile.BadZipFile, RuntimeError) as error:
        raise ModelFileError(f"{where}: {name} cannot be read.") from error
    if not isinstance(found, dict):
        raise ModelFileError(f"{where}: {name} holds no object.")
    return found


def _warn_of_versions(about: dict[str, Any], path: str | Path) -> None:
    for name in ("skatter", "scikit-learn"):
        saved, here = about["versions"].get(name), version(name)
        if saved != here:
            warnings.warn(
                f"{path} was saved with {name} {saved}, and this is {here}: predictions may "
                "differ. Adapt again to be sure.",
                stacklevel=3,
            )


# --- what a file may hold -------------------------------------------------------------------------


def _check_types(data: bytes, archive: zipfile.ZipFile, verdict: str) -> None:
    """Refuse what is not known, before anything is built; the message starts with the verdict."""
    for part in _parts(_json(archive, SCHEMA, verdict)):
        loader = part["__loader__"]
        if loader not in LOADERS:
            name = f"{part.get('__module__')}.{part.get('__class__')}"
            calls = "a model file holds data, and no functions or calls"
            remedy = _REMEDIES.get(loader) or _REMEDIES.get(name, calls)
            raise ModelFileError(f"{verdict}: it holds {name!r}; {remedy}.")
    skops = _skops()
    try:
        unknown = set(skops.get_untrusted_types(data=data)) - set(TRUSTED)
    except Exception as error:
        raise ModelFileError(f"{verdict}: {_one_line(error)}.") from error
    if unknown:
        name = min(unknown, key=lambda name: (name not in _REMEDIES, name))
        remedy = _REMEDIES.get(name, "only types of skatter, scikit-learn and NumPy are trusted")
        raise ModelFileError(f"{verdict}: it holds {name!r}; {remedy}.")


def _parts(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield every description of a part, however deep."""
    waiting = [schema]
    while waiting:
        found = waiting.pop()
        if isinstance(found, dict):
            if isinstance(found.get("__loader__"), str):
                yield found
            waiting.extend(found.values())
        elif isinstance(found, list):
            waiting.extend(found)


def _skops() -> Any:
    try:
        import skops.io
    except ImportError as error:
        raise ImportError(
            'Saving and loading models needs skops: pip install "skatter[io]"'
        ) from error
    return skops.io


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text.rstrip(".") if len(text) <= 200 else f"{text[:200]}…"
