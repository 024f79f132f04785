"""Topics of documents: how much each assignment of a fitted topic model can be trusted.

A fitted BERTopic, or any object with the same few attributes, is read; BERTopic is not imported.
"""

from clustertrust.topics.record import TopicScores
from clustertrust.topics.scoring import refit, score

__all__ = ["TopicScores", "refit", "score"]
