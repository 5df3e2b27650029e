"""Self-training: SCA learns from what it predicts, as far as it can be trusted."""

from skatter.self_training._classifier import Candidate, SCAClassifier, read_frequencies
from skatter.self_training._rounds import Round

__all__ = ["Candidate", "Round", "SCAClassifier", "read_frequencies"]
