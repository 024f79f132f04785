"""Words in the names of columns that say what a column holds."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# At the end of a name, or all of it.
IDS = _words(
    "id ids uuid guid uid identifier individual subject subj zip zipcode postcode plz fips geoid "
    "ssn isbn ean sku rownames rowname rowid barcode code iso idno pid pidnum seqn tract "
    "cust cusip url link href email fip sic naics gvkey permno hash doi issn cas casrn"
)
# What a name ends with that is written as one word: hhid, provnum, distcod.
ID_ENDINGS = ("id", "idno", "idnum", "num", "nbr", "cod", "code", "fips", "fip", "zip", "numeric")
NO_IDS = _words("paid bid kid grid acid solid liquid fluid rapid valid covid said")
# Numbers of rows, with any word before them.
ROW_NUMBERS = _words("index idx key serial seqno seq obs observation record row")
NUMBERS = ("idno", "num", "nr", "no")
IDS_IF_DIFFERENT = _words(
    "index idx key serial seqno seq no nr num number obs case observation record row rank phone"
)
# All of a name that can be nothing but the answer, and the last word of one that may be.
NAMED_ANSWERS = _words("target label labels cluster ground_truth truth")
ANSWERS = _words(
    "species diagnosis outcome variety cultivar class churn churned attrition survived spam fraud "
    "anomaly outlier segment choice chose chosen depvar answer decision placed"
)
# In the name of a column of two values.
EVENTS = _words(
    "death died dead deceased event relapse relapsed recurrence cens censor censored censoring "
    "failed failure admit admitted deny denied risk arrest arrested rearrest recid case "
    "converted conversion clicked subscribed responded approved accepted hired promoted "
    "bought won disease cancer diabetes lfp vote voted survival y"
)
# What the name of an event ends with that is written as one word: hospdead.
EVENT_ENDINGS = ("dead", "death", "died")
ANSWERS_AT_THE_END = _words("purchase status default response function type result winner y")
# Words of the only texts of a table that are not an answer.
NO_ANSWERS = _words(
    "sex gender group grp method treatment trt arm district continent region country state city "
    "county"
)
# Parts of a table that a model is fitted to and tested on.
SPLITS = _words("train training test testing valid validation val dev")

COUNTS = _words("freq freqs frequency frequencies count counts nobs")
WEIGHTS = _words("weights pweight wgt wtfinl perwt finalwgt fnlwgt")
SURVEYS = _words("sample sampling survey design inverse probability")
GROUPS = _words(
    "group grp block batch plate lab plot strata stratum family cohort arm treatment trt study "
    "inst instit institution hospital clinic school store shop branch department dept team site "
    "center centre region district county state country ward zone mode type kind class category "
    "cat occupation job industry sector race religion ethnicity carrier vendor brand route tree "
    "animal patient person plant panel place birthplace function party status province city "
    "municipality canton nation nationality language firm company bank airline litter label unit "
    "origin dest destination purpose alt alternative"
)

# What a name ends with that is written as one word: famtype, wkzone.
GROUP_ENDINGS = ("type", "class", "group", "grp", "zone", "cat", "race")
# What the name of a number of things begins with, and of what has an order; their integers are no
# codes.
NUMBERS_OF = ("n", "nb", "num", "number", "no")
ORDERED = (  # noqa: SIM905
    "age agegrp attitude degree dose duration edlevel educ exper freq grade inc income level "
    "order qual quant rank rate rating satis schooling score sever size stage tenure visit year"
).split()

ORDERED_ENDINGS = ("size", "level", "score", "rank", "rate", "grade", "income")

# Texts that are read and not compared.
FREE_TEXTS = _words(
    "comment comments note notes remark remarks description desc text review message title "
    "headline address street abstract summary feedback reason reasons details"
)

DATES = _words("date year yr month quarter week weekday day")
TIMES = _words("weekof hour minute timestamp")
# What a name ends with that is written as one word: diagyr, saledate.
DATE_ENDINGS = ("date", "year", "yr")
# Beside a word for a date: what it belongs to stays as it is.
LASTING = _words("birth born built remod founded established")
# Names of parts of dates, and the range of their numbers.
DATE_PARTS: dict[str, tuple[float, float]] = {
    **dict.fromkeys(("year", "yr", "jahr"), (1000, 2200)),
    **dict.fromkeys(("timestamp", "time"), (1e8, 1e20)),
    "month": (1, 12),
    "hour": (0, 24),
    "day": (0, 366),
    "weekday": (0, 7),
    "quarter": (1, 4),
    "date": (10_000, 1e15),
}

# Measures of a body or a thing, which has them all.
NOT_ZERO = _words(
    "insulin glucose pressure bp sbp dbp bmi weight height thickness skin cholesterol chol pulse "
    "hemoglobin haemoglobin mass length width diameter heartrate"
)
