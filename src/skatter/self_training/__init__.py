"""Self-training: SCA learns from what it predicts, as far as it can be trusted."""

from skatter.self_training.classifier import Candidate, SCAClassifier, read_frequencies
from skatter.self_training.rounds import Round

__all__ = ["Candidate", "Round", "SCAClassifier", "read_frequencies"]
