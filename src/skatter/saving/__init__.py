"""Models in files: saved and loaded without pickle, checked before anything is built."""

from skatter.saving._files import ModelFileError, describe_model, load_model, pack_model, save_model

__all__ = ["ModelFileError", "describe_model", "load_model", "pack_model", "save_model"]
