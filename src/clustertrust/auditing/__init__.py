"""One labelling, from any tool or person: how much each of its labels can be trusted."""

from clustertrust.auditing.labelling import audit
from clustertrust.auditing.record import Audit
from clustertrust.auditing.verdicts import VERDICTS, Verdict

__all__ = ["VERDICTS", "Audit", "Verdict", "audit"]
