"""Tiny data files in the formats of the real ones, which loaders are made to know."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np
from scipy.io import savemat

from skatter.datasets._home import KnownFile


def known(path):
    """What is to be known of a file, from the file itself."""
    content = path.read_bytes()
    return KnownFile(path.name, len(content), hashlib.sha256(content).hexdigest())


def put_file(home, monkeypatch, module, content):
    """Write the single file of a loader into a data home, and let the loader know it as it is."""
    (key, file), *others = module.SOURCE.files.items()
    assert not others
    path = home / module.SOURCE.folder / file.name
    path.parent.mkdir()
    if isinstance(content, str):
        path.write_text(content, encoding="utf-8")
    elif path.suffix == ".mat":
        savemat(path, content)
    else:
        np.savez(path, **content)
    monkeypatch.setattr(module, "SOURCE", replace(module.SOURCE, files={key: known(path)}))
    return home
