"""A person's answers about some points → learned scores, and a cut with a guarantee.

:func:`ask` chooses the points to ask about, :func:`learn` learns from the answers how probable it
is that each assignment is right, and :func:`decide` finds which points can be kept with a
guaranteed small error.
"""

from clustertrust.answers.deciding import Decision, decide
from clustertrust.answers.judging import Answers
from clustertrust.answers.learned import LearnedConfidence, learn
from clustertrust.answers.questions import Questions, ask

__all__ = ["Answers", "Decision", "LearnedConfidence", "Questions", "ask", "decide", "learn"]
