"""Words in the names of columns that say what a column holds.

In a family a star stands for one letter or more before a word, for any letters after it.
"""

from __future__ import annotations

import re
from collections.abc import Callable


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _family(text: str) -> Callable[[str], bool]:
    """Return whether a word is one of these: `surviv*` is survived, `*date` is saledate."""
    forms = (re.sub(r"^\*", r"\\w+", form).replace("*", r"\w*") for form in text.split())
    pattern = re.compile("|".join(forms))
    return lambda word: pattern.fullmatch(word) is not None


# At the end of a name, or all of it.
IDS = _words(
    "id ids uuid guid uid identifier individual subject subj zip zipcode postcode plz fips geoid "
    "ssn isbn ean sku rownames rowname rowid barcode code iso idno pid pidnum seqn tract "
    "cust cusip url link href email fip sic naics gvkey permno hash doi issn cas casrn"
)
NUMBERS = ("idno", "num", "nr", "no")
IDS_IF_DIFFERENT = _words(
    "index idx key serial seqno seq no nr num number obs case observation record row rank phone"
)
# Written as one word: hhid, provnum, distcod.
is_id = _family("*id *idno *idnum *num *nbr *cod *code *fips *fip *zip *numeric")
NO_IDS = _words(
    "paid unpaid prepaid aid said raid bid kid grid hybrid acid solid valid invalid liquid fluid "
    "rapid covid steroid thyroid opioid asteroid centroid sigmoid void humid rigid lipid arid"
)
# Of rows and of things that are filed, which have many numbers.
is_filed = _family(
    "index idx key serial seqno seq obs observation record row invoice ticket "
    "receipt transaction account policy contract member customer client user employee passenger "
    "student flight voyage booking shipment parcel license licence passport phone fax registration"
)

# All of a name that can be nothing but the answer.
NAMED_ANSWERS = _words(
    "target label labels cluster clusters ground_truth truth leiden louvain seurat_clusters"
)
# The last word of a name of what may be one, and at an end of a table.
is_answer = _family(
    "species diagnos* outcome* variety cultivar churn* attrit* surviv* spam fraud* anomaly outlier "
    "segment choice chose chosen depvar answer* decision* verdict placed vote voted klass* result*"
)
is_answer_at_the_end = _family(
    "purchas* default* respon* function winner disease diabetes cancer quality"
)
# In the name of a column of two values.
is_event = _family(
    "death died dead deceased mortality event relaps* recur* cens censor* fail failed failure "
    "admit* admission readmi* deny denied denial reject* risk arrest* rearrest* recid* case "
    "convert* conversion click* subscri* respond* response resp approv* accept* hired promoted "
    "bought purchased won win winner lfp delta inciden* infect* remission progression dropout "
    "graduated passed returned cancel* delinquen* bankrup* default* fraud* malignan* success* "
    "*dead *death *died *stat *status *cens *event"
)
# The two words of an outcome, whatever the name of its column.
OUTCOMES = (
    *map(_words, ("alive dead", "alive died", "survived died", "absent present", "win loss")),
    *map(_words, ("negative positive", "benign malignant", "healthy sick", "case control")),
    *map(_words, ("good bad", "good poor", "pass fail", "passed failed", "genuine counterfeit")),
    *map(_words, ("edible poisonous", "accepted rejected", "approved denied", "won lost")),
)
# All of a name, or with a number behind it.
ANSWERS_ALONE = _words("status class")
# Words of the only texts of a table that are not an answer.
NO_ANSWERS = _words(
    "sex gender group grp method treatment trt treat arm district continent region country state "
    "city county firm company plant block batch site station location team school store brand"
)
# Parts of a table that a model is fitted to and tested on.
SPLITS = _words("train training test testing valid validation val dev")

COUNTS = _words("freq freqs frequency frequencies count counts")
WEIGHTS = _words("weights pweight wtfinl perwt finalwgt fnlwgt wtint wtmec")
SURVEYS = _words("sample sampling survey design inverse probability")
# Integers of a name in the singular are codes of such things.
is_group = _family(
    "group grp block batch plate lab plot strata stratum family cohort arm treatment trt study "
    "inst instit institution hospital clinic school store shop branch department dept team site "
    "center centre region district county state country ward zone mode type kind class category "
    "cat occupation job industry sector race religion ethnic* carrier vendor brand route tree "
    "animal patient person plant panel place birthplace function party status province city "
    "municipality canton nation nationality language firm company bank airline litter label unit "
    "origin dest destination purpose alt alternative "
    "color colour shape make manufacturer model material breed strain genotype genus habitat soil "
    "marital position role division league conference rep replicate run session rater judge "
    "observer operator technician machine shift psu village town parish commune prefecture "
    "product item channel device browser platform source campaign weather drug therapy procedure "
    "tissue cell organ vessel ship faculty major course program programme denomination faith chr "
    "chromosome series father mother sire dam chick pig rat mouse cow dog station location loc "
    "*type *class *group *grp *[a-np-z]zone *cat *race *region *sector *species *colour *color "
    "*party"
)

# What the name of a number of things begins with, and of what has an order; their integers are no
# codes.
NUMBERS_OF = ("n", "nb", "num", "number", "no")
is_rank = _family(
    "age* attitude* degree* dose* duration* edlevel* educ* exper* freq* grade* inc income* level* "
    "order* qual* quant* rank* rate* rating* satis* schooling* score* sever* size* stage* tenure* "
    "visit* year* *size *level *score *rank *rate *grade *income"
)

# Things that are counted in ones, of a home, a family or a car.
is_of_few = _family(
    "bed beds bedroom* bath baths bathroom* *bath rooms kitchen* *kitchen floors storey* stories "
    "door doors gear gears cylinder* cyl engines seats kids *kids child* sibling* sibs sibsp parch "
    "parity gravid* abortion* litter* cars vehicles pets cards"
)
# What is measured or paid, which may go with nothing else.
is_amount = _family(
    "age ages time times hours hrs days weeks months duration* elapsed pop population* *pop salary "
    "salaries wage* earn* income* price* *price cost* fare* revenue* sales turnover volume* "
    "amount* total* area* surf* distance* dist density height* width* depth* nb"
)

# Texts that are read and not compared.
FREE_TEXTS = _words(
    "comment comments note notes remark remarks description desc text review message title "
    "headline address street abstract summary feedback reason reasons details"
)

DATES = _words("date year yr month mnth quarter week weekday dow day trend wave semester decade")
TIMES = _words("weekof hour minute timestamp doy yday julday jday julian")
# Written as one word: diagyr, saledate.
is_year = _family("*date *year *yr")
# Beside a word for a date: what it belongs to stays as it is.
is_lasting = _family("birth* born* built* blt remod* founded* established*")
# Names of parts of dates, and the range of their numbers.
DATE_PARTS: dict[str, tuple[float, float]] = {
    **dict.fromkeys(("year", "yr", "jahr"), (1000, 2200)),
    **dict.fromkeys(("timestamp", "time"), (1e8, 1e20)),
    **dict.fromkeys(("month", "mnth"), (1, 12)),
    "hour": (0, 24),
    "day": (0, 366),
    **dict.fromkeys(("weekday", "dow"), (0, 7)),
    "quarter": (1, 4),
    "date": (10_000, 1e15),
}

# Measures of a body or a thing, which has them all.
NOT_ZERO = _words(
    "insulin glucose pressure bp sbp dbp bmi weight height thickness skin cholesterol chol pulse "
    "hemoglobin haemoglobin mass length width diameter heartrate"
)
