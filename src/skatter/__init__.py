"""Train where you have labels, predict where you don't.

Domain adaptation and domain generalization by Scatter Component Analysis, the scikit-learn way.
"""

from importlib.metadata import version

from skatter.sca import KPCA, SCA, USCA, KernelFisher

__version__ = version("skatter")

__all__ = ["KPCA", "SCA", "USCA", "KernelFisher", "__version__"]
