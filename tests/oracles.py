"""Slow, plain versions of the formulas on lists and dicts. They share no code with the package.

Runs are columns of an (n, R) array of integers; negative: not assigned. Where two matchings
are equally good nobody can say which one the package takes, so tests that compare with `stability`,
`consensus` or `standard_errors` use ensembles for which `unique_optima` holds.
"""

from collections import Counter
from fractions import Fraction
from itertools import combinations, permutations
from math import dist, exp, inf, nan, sqrt
from statistics import fmean, pstdev

import numpy as np


def contingency(first, second):
    """Points by cluster of one run and of the other, Eq. (4), over points assigned in both."""
    return Counter((a, b) for a, b in zip(first, second, strict=True) if a >= 0 and b >= 0)


def matchings(left, right):
    """All ways to pair every name on the shorter side with a name of its own on the other."""
    if len(left) <= len(right):
        return [dict(zip(left, chosen, strict=True)) for chosen in permutations(right, len(left))]
    return [dict(zip(chosen, right, strict=True)) for chosen in permutations(left, len(right))]


def optima(first, second):
    """All matchings {cluster of `first`: cluster of `second`} with the most points on matched
    cells, Eq. (5).
    """
    table = contingency(first, second)
    candidates = matchings(
        *(sorted({label for label in run if label >= 0}) for run in (first, second))
    )
    totals = [sum(table[pair] for pair in match.items()) for match in candidates]
    return [match for match, total in zip(candidates, totals, strict=True) if total == max(totals)]


def unique_optima(labels):
    """Whether every pair of runs has one best matching."""
    return all(
        len(optima(first, second)) == 1 for first, second in combinations(labels.T.tolist(), 2)
    )


def matching_agreement(first, second):
    """Whether the clusters that hold a point are partners, Eq. (6); None where a run assigns it none."""
    match = optima(first, second)[0]
    return [
        None if min(a, b) < 0 else int(match.get(a) == b)
        for a, b in zip(first, second, strict=True)
    ]


def jaccard_agreement(first, second):
    """Overlap of the two clusters that hold a point, over points assigned in both.

    None where there are none.
    """
    both = [i for i, (a, b) in enumerate(zip(first, second, strict=True)) if a >= 0 and b >= 0]
    out = [None] * len(first)
    for i in both:
        one = {j for j in both if first[j] == first[i]}
        other = {j for j in both if second[j] == second[i]}
        out[i] = len(one & other) / len(one | other)
    return out


def element_centric_agreement(first, second, alpha=0.9):
    """1 - Σ_j |p_j - q_j| / 2α, with p and q the chances of a walk that restarts at the point with
    1 - α and otherwise goes to any member of its cluster; None where a run assigns it none.
    """
    both = [i for i, (a, b) in enumerate(zip(first, second, strict=True)) if a >= 0 and b >= 0]
    out = [None] * len(first)
    for i in both:
        chances = []
        for run in (first, second):
            members = [j for j in both if run[j] == run[i]]
            chances.append(
                {j: alpha * (j in members) / len(members) + (1 - alpha) * (j == i) for j in both}
            )
        p, q = chances
        out[i] = 1 - sum(abs(p[j] - q[j]) for j in both) / (2 * alpha)
    return out


def ambiguous_pairs(labels, low, high):
    """Share of pairs that more than `low` and fewer than `high` of their runs put together."""
    total = ambiguous = 0
    for i, j in combinations(range(len(labels)), 2):
        runs = [(a, b) for a, b in zip(labels[i], labels[j], strict=True) if min(a, b) >= 0]
        if runs:
            together = sum(a == b for a, b in runs)
            total += 1
            ambiguous += low * len(runs) < together < high * len(runs)
    return ambiguous / total if total else float("nan")


AGREEMENTS = {
    "matching": matching_agreement,
    "jaccard": jaccard_agreement,
    "element-centric": element_centric_agreement,
}


def stability(labels, *, agreement="matching", unassigned="skip"):
    """Mean agreement over the pairs of runs, Eq. (7)."""
    by_pair = [
        AGREEMENTS[agreement](first, second) for first, second in combinations(labels.T.tolist(), 2)
    ]
    out = []
    for point in zip(*by_pair, strict=True):
        kept = (
            point if unassigned == "disagree" else [value for value in point if value is not None]
        )
        out.append(fmean(value or 0 for value in kept) if kept else nan)
    return np.array(out)


def medoid(labels):
    """The run with the smallest summed disagreement with the others.

    The first on ties, in exact fractions.
    """
    runs = labels.T.tolist()

    def disagreement(first, second):
        agreed = [value for value in matching_agreement(first, second) if value is not None]
        return 1 - Fraction(sum(agreed), len(agreed)) if agreed else 1

    sums = [
        sum(disagreement(one, other) for q, other in enumerate(runs) if q != r)
        for r, one in enumerate(runs)
    ]
    return sums.index(min(sums))


def by_agreement(runs, reference):
    """Positions of the runs, those that agree most with the reference first."""

    def disagreement(run):
        agreed = [value for value in matching_agreement(runs[reference], run) if value is not None]
        return -Fraction(sum(agreed), len(agreed)) if agreed else 0

    return sorted(range(len(runs)), key=lambda r: disagreement(runs[r]))


def in_terms_of(labels, reference):
    """Runs in the names of one of them.

    A cluster without a partner there gets a name that no other run has.
    """
    runs = labels.T.tolist()
    partners = [optima(run, runs[reference])[0] for run in runs]
    return np.array(
        [
            [label if label < 0 else partners[r].get(label, 1000 * (r + 1)) for label in run]
            for r, run in enumerate(runs)
        ]
    ).T


def reference_stability(labels, reference, *, unassigned="skip"):
    """Share of the pairs of runs that name a point alike, in the terms of one run."""
    out = []
    for named in in_terms_of(labels, reference).tolist():
        pairs = [None if min(pair) < 0 else pair[0] == pair[1] for pair in combinations(named, 2)]
        kept = pairs if unassigned == "disagree" else [same for same in pairs if same is not None]
        out.append(fmean(bool(same) for same in kept) if kept else nan)
    return np.array(out)


def votes(labels, reference, *, unassigned="skip"):
    """Label, strength and {label: share} of each point, in the names of the reference run."""
    runs = labels.T.tolist()
    into = runs[reference]
    partners = [optima(run, into)[0] for run in runs]
    found, strengths, shares = [], [], []
    for i, own in enumerate(into):
        cast = [partners[r].get(run[i]) for r, run in enumerate(runs)]
        count = Counter(vote for vote in cast if vote is not None)
        divisor = len(runs) if unassigned == "disagree" else sum(run[i] >= 0 for run in runs)
        leaders = {label for label in into if count and count[label] == max(count.values())}
        if len(leaders) > 1 and own < 0:  # the vote of the run that agrees most with the reference
            label = next(cast[r] for r in by_agreement(runs, reference) if cast[r] in leaders)
        else:
            label = own if len(leaders) > 1 else leaders.pop() if leaders else -1
        found.append(label)
        strengths.append(count[label] / divisor if divisor else nan)
        shares.append({name: number / divisor for name, number in count.items()})
    return np.array(found), np.array(strengths), shares


def best_reference(labels, *, unassigned="skip"):
    """The run that, as the reference, gives the highest mean strength; the first on ties."""
    means = []
    for reference in range(labels.shape[1]):
        strengths = votes(labels, reference, unassigned=unassigned)[1]
        means.append(round(fmean(value for value in strengths if value == value), 10))
    return means.index(max(means))


def silhouette(X, run, i):
    """(b - a) / max(a, b), Eq. (1), of point i in one run; None where it is not assigned."""
    if run[i] < 0:
        return None
    members = {
        label: [j for j, at in enumerate(run) if at == label and j != i]
        for label in set(run)
        if label >= 0
    }
    own = members.pop(run[i])
    if not own or not members:
        return 0.0
    a = fmean(dist(X[i], X[j]) for j in own)
    b = min(fmean(dist(X[i], X[j]) for j in others) for others in members.values())
    return (b - a) / max(a, b) if max(a, b) > 0 else 0.0


def components(X, labels, *, agreement, unassigned, normalization="clip"):
    """(c, μ - σ) of every point, Eqs. (1) to (7); NaN where fewer than two runs count.

    With "smooth" (c, μ).
    """
    less = 0 if normalization == "smooth" else 1
    out = []
    for i, c in enumerate(stability(labels, agreement=agreement, unassigned=unassigned)):
        s = [silhouette(X, run, i) for run in labels.T.tolist()]
        s = (
            [value or 0.0 for value in s]
            if unassigned == "disagree"
            else [value for value in s if value is not None]
        )
        out.append((c, fmean(s) - less * pstdev(s)) if len(s) >= 2 else (nan, nan))
    return out


def normalized(low, normalization):
    """S̃ of μ - σ, Eq. (3) and its footnote; of μ with "smooth"."""
    if normalization == "smooth":
        return (low + sqrt(low**2 + 0.0004)) / (1 + sqrt(1.0004))
    return max(0.0, low) if normalization == "clip" else min(1.0, max(0.0, (low + 1) / 2))


def fused(c, low, fusion, normalization):
    """The score of c and μ - σ, Eq. (8)."""
    return fused_g(c, normalized(low, normalization), fusion)


def fused_g(c, g, fusion):
    """The score of c and S̃."""
    return c * g if fusion == "product" else 2 * c * g / (c + g) if c + g else 0.0


def scores(X, labels, *, fusion, normalization, agreement, unassigned):
    """The CAKE score of every point, Eqs. (1) to (8)."""
    how = {"agreement": agreement, "unassigned": unassigned, "normalization": normalization}
    parts = components(X, labels, **how)
    return np.array([nan if c != c else fused(c, low, fusion, normalization) for c, low in parts])


def standard_errors(X, labels, *, fusion, normalization, agreement, unassigned):
    """Standard error of every score: all is computed again with each run left out, and with 2 of
    R + 2 parts of stability and geometry taken away.
    """
    R = labels.shape[1]
    options = {"agreement": agreement, "unassigned": unassigned, "normalization": normalization}
    now = components(X, labels, **options)
    without = [components(X, np.delete(labels, r, axis=1), **options) for r in range(R)]
    out = []
    for i, row in enumerate(labels):
        left_out = [without[r][i] for r in range(R) if row[r] >= 0 or unassigned == "disagree"]
        (c, low), R_i = now[i], len(left_out)
        if R_i < 3:
            out.append(nan)
            continue

        def error(values):
            return sqrt((len(values) - 1) * pstdev(values) ** 2)  # Σ(θ - θ̄)² = R_i · variance

        score = fused(c, low, fusion, normalization)
        jackknife = error([fused(*each, fusion, normalization) for each in left_out])
        g = normalized(low, normalization)
        if g == 0:  # the upper end of the interval of μ - σ
            high = low + 1.96 * error([each[1] for each in left_out])
            jackknife = max(jackknife, (fused(c, high, fusion, normalization) - score) / 1.96)
        kept = 1 - 2 / (R_i + 2)
        out.append(sqrt(jackknife**2 + (score - fused_g(kept * c, kept * g, fusion)) ** 2))
    return np.array(out)


def graph_links(D, k):
    """{i: {j: distance}} of the k nearest others of each point and of those whose nearest it is."""
    n = len(D)
    nearest = [
        sorted((j for j in range(n) if j != i), key=lambda j, i=i: (D[i][j], j))[:k]
        for i in range(n)
    ]
    links = {i: {j: D[i][j] for j in nearest[i]} for i in range(n)}
    for i in range(n):
        for j in nearest[i]:
            links[j][i] = min(D[i][j], links[j].get(i, D[i][j]))
    scales = {i: sorted(D[i][j] for j in nearest[i])[min(7, len(nearest[i])) - 1] for i in range(n)}
    return links, scales


def self_tuned(links, scales):
    """{i: {j: weight}} of the self-tuning kernel; scales of 0 are raised to the smallest above 0,
    or to the smallest distance above 0 if there is none.
    """
    distances = [d for near in links.values() for d in near.values() if d > 0]
    floor = min([s for s in scales.values() if s > 0] or distances)
    at = {i: max(s, floor) for i, s in scales.items()}
    return {
        i: {j: exp(-d * d / (at[i] * at[j])) for j, d in near.items()} for i, near in links.items()
    }


def stretched(links, weights):
    """{i: {j: distance / weight}}."""
    return {i: {j: d / weights[i][j] for j, d in near.items()} for i, near in links.items()}


def walk_shares(weights, run, steps):
    """{cluster: share} of the walks from each point that end in it, among ends that are assigned."""
    n = len(run)
    found = []
    for i in range(n):
        where = {i: 1.0}
        for _ in range(steps):
            there = Counter()
            for j, chance in where.items():
                total = sum(weights[j].values())
                for target, weight in weights[j].items():
                    if total > 0:
                        there[target] += chance * weight / total
            where = there
        ends = Counter()
        for j, chance in where.items():
            if run[j] >= 0:
                ends[run[j]] += chance
        total = sum(ends.values())
        found.append({c: share / total for c, share in ends.items() if total > 0})
    return found


def graph_silhouettes(weights, labels, steps, lengths=None):
    """Eq. (1) with 1 - share in place of the distance, times Eq. (1) with lengths of paths if they
    are given; the lower one where one of them is not above 0.
    """
    D = np.zeros((len(weights), len(weights))) if lengths is None else shortest_paths(lengths)
    s = np.full(labels.shape, nan)
    for r, run in enumerate(labels.T.tolist()):
        shares = walk_shares(weights, run, steps)
        members = {c: [j for j in range(len(run)) if run[j] == c] for c in set(run) - {-1}}
        for i, own in enumerate(run):
            if own < 0:
                continue
            outside = {c: 1 - shares[i].get(c, 0.0) for c in members}
            away = {}
            for c, of in members.items():
                others = [D[i, j] for j in of if j != i]
                away[c] = sum(others) / max(1, len(others))
            by_walk, by_path = (
                _one_silhouette(values, own, len(members[own]) == 1) for values in (outside, away)
            )
            if lengths is None:
                s[i, r] = by_walk
                continue
            both = by_walk > 0 and by_path > 0
            s[i, r] = by_walk * by_path if both else min(by_walk, by_path)
    return s


def _one_silhouette(values, own, lone):
    """Eq. (1) from {cluster: dissimilarity}; 0 for a lone point."""
    a, b = values[own], min((v for c, v in values.items() if c != own), default=None)
    if b is None or lone or max(a, b) < 1e-12:
        return 0.0
    return (b - a) / max(a, b)


def shortest_paths(lengths):
    """All lengths of paths by Floyd and Warshall; no path: 10 times the longest, or 1."""
    n = len(lengths)
    D = np.array([[0.0 if i == j else lengths[i].get(j, inf) for j in range(n)] for i in range(n)])
    for k in range(n):
        D = np.minimum(D, D[:, [k]] + D[[k]])
    return np.minimum(D, 10 * D[inf > D].max() or 1.0)
