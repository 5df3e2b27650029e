"""Model files: a zip archive of JSON and arrays, checked before anything is built.

``skatter.json`` says what the model is, ``model.json`` holds its objects (:mod:`.nodes`) and
``N.npy`` its arrays. Members are compressed, but no further than to a sixteenth, so that no small
file unpacks into a large one. The comment of the archive ends with the signature, if there is one,
and the SHA-256 of all that comes before.

The checksum guards against damage and not against malice: whoever changes a file may write a new
one. What a changed file can hold is limited by :mod:`.schemas`, and who wrote it is proven by the
signature alone.
"""

from __future__ import annotations

import hashlib
import hmac
import io
import json
import warnings
import zipfile
import zlib
from collections.abc import Collection, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from skatter._files import open_archive, read_npy, read_regular, write_atomically
from skatter._tensors import Array
from skatter._versions import versions
from skatter.saving._nodes import Reader, Writer, build
from skatter.saving._schemas import name_of
from skatter.saving._specs import Refused
from skatter.tables import check_target

FORMAT = 2  # of the file; 1 was skops'
ABOUT, MODEL = "skatter.json", "model.json"
DIGEST = 64  # characters of a SHA-256 in hexadecimal
UNSIGNED = b"0" * DIGEST
BAD_MEMBER = (zipfile.BadZipFile, zlib.error)  # what a damaged member of an archive raises
SHORTEST_KEY = 16
MAX_BYTES = 2**32  # size of a model file
TIMES = 16  # how many times its own size a model file may unpack into
WORTHWHILE = 0.7  # a member is compressed where it takes less than this share of its size
MAX_JSON = 2**24  # size of its JSON, which takes many times as much memory


class ModelFileError(ValueError):
    """A model that cannot be saved, or a file that is refused; one line says why."""


def save_model(
    model: Any, path: str | Path, *, force: bool = False, key: bytes | None = None
) -> Path:
    """Save a fitted model; what :func:`load_model` would refuse is refused here.

    Parameters
    ----------
    model : estimator
        A method of the registry, a pipeline, or what :func:`skatter.adaptation.adapt` returns as
        ``model``. Its method ``describe``, if it has one, returns what is kept about it.
    path : str or Path
        The file to write, as a whole or not at all; ``.skatter`` is the usual ending.
    force : bool
        Overwrite a file that exists.
    key : bytes or None
        A secret of 16 bytes or more: the file is signed with it (HMAC-SHA256).

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
    ...     again = load_model(save_model(model, f"{folder}/model.skatter"))
    >>> bool((again.transform(X) == model.transform(X)).all())
    True
    """
    target = check_target(path, force=force, name="path")
    data = pack_model(model, key=key)
    write_atomically(target, lambda part: part.write_bytes(data))
    return target


def pack_model(model: Any, *, key: bytes | None = None) -> bytes:
    """Return what :func:`save_model` writes."""
    _check_key(key)
    try:
        return _pack(model, key)
    except Refused as error:
        raise ModelFileError(f"{type(model).__name__} cannot be saved: {error}.") from error


def load_model(path: str | Path, *, key: bytes | None = None) -> Any:
    """Load a model that :func:`save_model` wrote; nothing is built unless all of it is known.

    Parameters
    ----------
    path : str or Path
        The file; a regular one, no pipe or device.
    key : bytes or None
        The secret that it was signed with; a file that was not is refused. None: a signature is
        not looked at.

    Returns
    -------
    estimator
        The fitted model. It predicts what it predicted before it was saved, to the last bit.

    Raises
    ------
    ModelFileError
        Where the file is damaged, is no model file, or holds anything that does not fit its schema.

    Warns
    -----
    UserWarning
        Where it was saved with another version of skatter or scikit-learn.
    """
    _check_key(key)
    archive, about = _opened(path, key)
    _warn_of_versions(about, path)
    try:
        return build(_unpack(archive))
    except Refused as error:
        raise ModelFileError(f"{path} is refused: {_one_line(error)}.") from error
    # A file made to mislead may fail in ways that nobody has thought of.
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
    return _opened(path)[1]


# --- writing --------------------------------------------------------------------------------------


def _pack(model: Any, key: bytes | None) -> bytes:
    """Return the archive, once it is seen that it can be read."""
    writer = Writer()
    root = writer.node(model)
    if type(root) is not dict or "part" not in root:
        raise Refused("it is no estimator")
    content = {"parts": writer.parts, "model": root["part"]}
    texts = {ABOUT: json.dumps(_describe(model), indent=2), MODEL: json.dumps(content)}
    if max(map(len, texts.values())) > MAX_JSON:
        raise Refused(f"its settings and names take more than {MAX_JSON:,} bytes")
    Reader(writer.arrays, json.loads(texts[MODEL])["parts"]).model(root["part"])
    members = {name: text.encode() for name, text in texts.items()}
    members |= {f"{number}.npy": _npy(array) for number, array in enumerate(writer.arrays)}
    data = _archive(members, packed={name for name, each in members.items() if _shrinks(each)})
    if sum(map(len, members.values())) > TIMES * len(data):
        data = _archive(members, packed=())
    content_bytes = data[: -2 * DIGEST]
    signed = content_bytes + (UNSIGNED if key is None else _sign(content_bytes, key))
    return signed + hashlib.sha256(signed).hexdigest().encode()


def _shrinks(content: bytes) -> bool:
    """Whether compression is worth the time of loading; of most floats it is not."""
    return len(zlib.compress(content, 1)) < WORTHWHILE * len(content)


def _archive(members: Mapping[str, bytes], packed: Collection[str]) -> bytes:
    """Return a zip archive with room for signature and checksum; some members are compressed."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, content in members.items():
            packing = zipfile.ZIP_DEFLATED if name in packed else zipfile.ZIP_STORED
            # An entry without the time of day: the same model gives the same bytes.
            archive.writestr(zipfile.ZipInfo(name), content, compress_type=packing)
        archive.comment = UNSIGNED * 2
    return data.getvalue()


def _npy(array: Array) -> bytes:
    file = io.BytesIO()
    native = array.astype(array.dtype.newbyteorder("="), copy=False)
    np.lib.format.write_array(file, native, allow_pickle=False)
    return file.getvalue()


def _sign(content: bytes | memoryview, key: bytes) -> bytes:
    return hmac.new(key, content, hashlib.sha256).hexdigest().encode()


def _check_key(key: bytes | None) -> None:
    if key is not None and not isinstance(key, bytes):
        raise TypeError(f"key must be bytes or None, got {type(key).__name__}.")
    if key is not None and len(key) < SHORTEST_KEY:
        raise ValueError(f"key must have {SHORTEST_KEY} bytes or more, got {len(key)}.")


def _describe(model: Any) -> dict[str, Any]:
    about = {
        "format": FORMAT,
        "created_by": f"skatter {version('skatter')}",
        "versions": versions(),
        "model": name_of(type(model)),
    }
    for key, attribute in (("columns", "feature_names_in_"), ("classes", "classes_")):
        if hasattr(model, attribute):
            about[key] = np.asarray(getattr(model, attribute)).tolist()
    own = model.describe() if hasattr(model, "describe") else {}
    return {**about, **own}


# --- reading --------------------------------------------------------------------------------------


def _read(path: str | Path, key: bytes | None) -> bytes:
    """Return the bytes of a file that is whole, and signed where there is a key."""
    try:
        data = read_regular(path, MAX_BYTES)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ModelFileError(f"{path} cannot be read: {reason}.") from error
    if not data.startswith(b"PK"):
        raise ModelFileError(
            f"{path} is no model file of skatter: it is no zip archive. Save models with "
            "skatter.saving.save_model, or skatter adapt --model."
        )
    signed, digest = memoryview(data)[:-DIGEST], data[-DIGEST:]
    if not hmac.compare_digest(hashlib.sha256(signed).hexdigest().encode(), digest):
        raise ModelFileError(
            f"{path} is damaged, or was not saved by skatter: its checksum does not match its "
            "contents. Save the model again."
        )
    content, signature = signed[:-DIGEST], bytes(signed[-DIGEST:])
    if key is not None and not hmac.compare_digest(_sign(content, key), signature):
        raise ModelFileError(f"{path} was not signed with this key; ask where it comes from.")
    return data


def _opened(path: str | Path, key: bytes | None = None) -> tuple[zipfile.ZipFile, dict[str, Any]]:
    """Return the archive of a model file, and what that says of itself."""
    data = _read(path, key)
    try:
        archive = open_archive(data, times=TIMES)
    except ValueError as error:
        raise ModelFileError(f"{path} is no model file of skatter: {_one_line(error)}.") from error
    if not {ABOUT, MODEL} <= set(archive.namelist()):
        raise ModelFileError(
            f"{path} is no model file of skatter: it holds no {ABOUT} or no {MODEL}."
        )
    try:
        about = _json(archive, ABOUT)
    except Refused as error:
        raise ModelFileError(f"{path} is damaged: {error}.") from error
    if about.get("format") != FORMAT or not isinstance(about.get("versions"), Mapping):
        raise ModelFileError(
            f"{path} has format {str(about.get('format'))[:20]!r}, and this version of skatter "
            f"reads {FORMAT}. Load it with the version that saved it."
        )
    return archive, about


def _json(archive: zipfile.ZipFile, name: str) -> dict[str, Any]:
    if archive.getinfo(name).file_size > MAX_JSON:
        raise Refused(f"{name} is larger than {MAX_JSON:,} bytes")
    try:
        found = json.loads(archive.read(name))
    except (ValueError, RecursionError, RuntimeError, EOFError, *BAD_MEMBER) as error:
        raise Refused(f"{name} cannot be read") from error
    if not isinstance(found, dict):
        raise Refused(f"{name} holds no object")
    return found


def _unpack(archive: zipfile.ZipFile) -> Any:
    """Return the model as parts, all of them checked."""
    content = _json(archive, MODEL)
    count = len(archive.namelist()) - 2
    arrays = [read_npy(archive.read(f"{number}.npy")) for number in range(count)]
    if content.keys() != {"parts", "model"} or not isinstance(content["parts"], list):
        raise Refused(f"{MODEL} has no parts")
    return Reader(arrays, content["parts"]).model(content["model"])


def _warn_of_versions(about: dict[str, Any], path: str | Path) -> None:
    for name in ("skatter", "scikit-learn"):
        saved, here = about["versions"].get(name), version(name)
        if saved != here:
            warnings.warn(
                f"{path} was saved with {name} {str(saved)[:20]}, and this is {here}: predictions "
                "may differ. Adapt again to be sure.",
                stacklevel=3,
            )


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text.rstrip(".") if len(text) <= 200 else f"{text[:200]}…"
