"""From a table with labels in some domains to labels in the others: adapt, compare, keep.

:func:`adapt` does all of it. It reads the table (:mod:`skatter.tables`), decides who is source and
who is target (:mod:`~skatter.adaptation._roles`), picks a method that suits the table
(:mod:`~skatter.adaptation._plan`), fits it and a plain model, and compares the two without a target
label (:mod:`~skatter.adaptation._compare`). :func:`ask` says which rows a person should label to
settle that. Of a large table, models are fitted on a sample (:mod:`~skatter.adaptation._sample`).
"""

from skatter.adaptation._adapting import Adaptation, adapt
from skatter.adaptation._asking import Questions, ask
from skatter.adaptation._model import TableModel

__all__ = ["Adaptation", "Questions", "TableModel", "adapt", "ask"]
