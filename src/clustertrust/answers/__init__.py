"""A person's answers about some points → learned scores, and a cut with a guarantee.

:class:`LearnedConfidence` learns from answers how probable it is that each assignment is right.
"""

from clustertrust.answers.learned import LearnedConfidence

__all__ = ["LearnedConfidence"]
