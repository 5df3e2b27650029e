"""What a tensor must be: samples, and new ones of the kind of those before them."""

from __future__ import annotations

from skatter._tensors.places import Tall, is_tensor, strips, torch


def check_tensor(X: torch.Tensor, name: str) -> torch.Tensor:
    """Check samples that came as a tensor; return the same memory, without gradient."""
    if X.layout != torch.strided:
        raise TypeError(f"{name} is a tensor of layout {X.layout}; pass {name}.to_dense().")
    if X.dtype not in (torch.float32, torch.float64):
        raise TypeError(
            f"{name} is a tensor of {X.dtype}, and must be one of torch.float32 or torch.float64: "
            f"pass {name}.float() or {name}.double()."
        )
    if X.ndim != 2:
        raise ValueError(
            f"{name} must have two dimensions, a row for every sample; got shape {tuple(X.shape)}. "
            f"Reshape it, e.g. {name}.flatten(1) for images or {name}[:, None] for one feature."
        )
    if not X.numel():
        raise ValueError(f"{name} is empty: it has shape {tuple(X.shape)}.")
    X = X.detach()
    row = _first_row_not_finite(X)
    if row is not None:
        raise ValueError(
            f"{name} has a value that is NaN or infinite in row {row}. Fill in or leave out what "
            f"is missing, e.g. {name}[torch.isfinite({name}).all(dim=1)]."
        )
    return X


def _first_row_not_finite(X: torch.Tensor) -> int | None:
    # A sum is finite only where all its terms are, but finite terms may overflow together.
    suspects = torch.isfinite(X.sum(dim=1)).logical_not_().nonzero().ravel()
    for part in strips(len(suspects), X.shape[1] * X.element_size()):
        finite = torch.isfinite(X[suspects[part]]).all(dim=1)
        if not finite.all():
            return int(suspects[part][~finite][0])
    return None


def require_same_place(X: Tall, fitted: Tall, name: str) -> None:
    """Raise where new samples are of another kind or device, or tensors of another type."""
    if not (is_tensor(X) or is_tensor(fitted)):
        return
    if is_tensor(X) and is_tensor(fitted) and (X.device, X.dtype) == (fitted.device, fitted.dtype):
        return
    if not is_tensor(fitted):
        remedy = f"{name}.numpy(force=True)"
    elif not is_tensor(X):
        remedy = f"torch.as_tensor({name}, dtype={fitted.dtype}, device='{fitted.device}')"
    else:
        remedy = f"{name}.to('{fitted.device}', {fitted.dtype})"
    raise TypeError(
        f"{name} is {_place(X)}, but the fit was on {_place(fitted)}: pass {remedy}, or fit again."
    )


def _place(x: Tall) -> str:
    return f"a tensor of {x.dtype} on {x.device}" if is_tensor(x) else "a NumPy array"
