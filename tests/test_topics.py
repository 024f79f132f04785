"""Topics of documents: what is read of a fitted topic model, and what it can take back."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from extras import extra
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.cluster import DBSCAN, KMeans
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.random_projection import GaussianRandomProjection

from clustertrust import Ensemble, ParameterError, audit, topics
from clustertrust.topics import TopicScores

rng = np.random.default_rng(3)
CENTERS = rng.normal(size=(4, 12))
TRUE = np.repeat(np.arange(4), 40)
# Directions of four topics; lengths say nothing.
EMBEDDINGS = (CENTERS[TRUE] + rng.normal(scale=0.5, size=(160, 12))) * rng.lognormal(size=(160, 1))
GIVEN = TRUE.copy()
GIVEN[::8] = -1
GIVEN[5] = 3  # a slip
DOCS = [f"document {i} of topic {topic}" for i, topic in enumerate(TRUE)]


class StandIn:
    """The attributes of a fitted BERTopic that are read, and the methods that take results."""

    def __init__(self, found):
        self.topics_ = [int(topic) for topic in found]
        self.topic_labels_ = {t: f"{t}_word_other" for t in sorted(set(self.topics_))}
        self.custom_labels_ = None
        self.umap_model = GaussianRandomProjection(5)
        self.hdbscan_model = KMeans(3, n_init=1)

    def get_document_info(self, docs, metadata):
        table = pd.DataFrame({"Document": docs, "Topic": self.topics_})
        for column, values in metadata.items():
            table[column] = values
        return table


@pytest.fixture(scope="module")
def scored():
    return topics.score(StandIn(GIVEN), DOCS, EMBEDDINGS, random_state=0)


def test_columns_go_with_the_documents(scored):
    info = StandIn(GIVEN).get_document_info(DOCS, metadata=scored.columns())
    outlier = info["Topic"] == -1
    assert info.loc[~outlier, "score"].between(0, 1).all()
    assert info.loc[outlier, "score"].isna().all()
    assert info["suggested_score"].between(0, 1).all()
    assert (info["suggested"] == TRUE).mean() > 0.95
    assert info.loc[5, ["Topic", "suggested"]].tolist() == [3, 0]
    assert info.loc[5, "score"] < 0.3 < info["score"].median()
    assert set(info["rival"]) <= {-1, 0, 1, 2, 3}
    assert info["reason"].map(type).eq(str).all()


def test_it_is_the_audit_of_unit_rows(scored):
    units = EMBEDDINGS / np.linalg.norm(EMBEDDINGS, axis=1, keepdims=True)
    by_hand = audit(units, Ensemble.from_labels(GIVEN), random_state=0)
    assert_allclose(scored.columns()["score"], by_hand.scores, atol=1e-9)
    assert_array_equal(scored.suggested, by_hand.suggested)


def test_outliers_take_topics_by_their_share(scored):
    share = scored.columns()["suggested_score"]
    for accept in (0, 0.5, 0.9, 1.0):
        moved = np.array(scored.topics(accept=accept))
        was_outlier = GIVEN == -1
        assert_array_equal(moved[~was_outlier], GIVEN[~was_outlier])
        assert_array_equal(moved[was_outlier] >= 0, share[was_outlier] >= accept)
    assert scored.topics(accept=0).count(-1) == 0
    assert all(type(topic) is int for topic in scored.topics())
    with pytest.raises(ParameterError, match=r"accept=50 must be a number from 0 to 1"):
        scored.topics(accept=50)


def test_halves_of_a_topic_are_merged_and_others_are_not():
    true = np.repeat(np.arange(4), 100)
    X = CENTERS[true] + rng.normal(scale=0.5, size=(400, 12))
    X[:100, -1] += rng.normal(size=100)  # a topic that is long, and cut across
    along = X[:100, -1]
    halved = np.r_[np.where(along > np.median(along), 7, 0), true[100:]]
    docs = [""] * 400
    assert halved[0] == 7  # the higher number comes first in the list
    assert topics.score(StandIn(halved), docs, X, random_state=0).merges() == [[0, 7]]
    assert topics.score(StandIn(true), docs, X, random_state=0).merges() == []


def test_corrected_topics_and_names_are_read():
    model = StandIn(GIVEN)
    model.custom_labels_ = ["none", "space", "cars", "guns", "faith"]
    scored = topics.score(model, DOCS, EMBEDDINGS, topics=TRUE, random_state=0)
    assert_array_equal(scored.given, TRUE)
    assert scored.name(0) == "space"
    assert scored.name(3) == "faith"
    assert TopicScores.name(scored, 9) == "topic 9"


def test_many_columns_are_reduced_sparse_ones_too():
    wide = np.hstack([EMBEDDINGS, np.zeros((160, 90))])
    dense = topics.score(StandIn(GIVEN), DOCS, wide, random_state=0)
    assert dense.X.shape == (160, topics.scoring.COMPONENTS)
    same = topics.score(StandIn(GIVEN), DOCS, sparse.csr_array(wide), random_state=0)
    assert (same.suggested == dense.suggested).mean() > 0.95


def test_refits_follow_the_parts_of_the_model():
    model = StandIn(GIVEN)
    runs = topics.refit(model, EMBEDDINGS, n_runs=3, random_state=4)
    assert runs.n_runs == 3
    reduced = GaussianRandomProjection(5, random_state=5).fit_transform(EMBEDDINGS)
    by_hand = KMeans(3, n_init=1, random_state=5).fit_predict(reduced)
    same = Ensemble.from_labels([by_hand, runs.labels[:, 1]])
    assert len(np.unique(same.labels, axis=0)) == 3
    model.umap_model, model.hdbscan_model = PCA(3).set_params(random_state=None), DBSCAN()
    model.umap_model = None
    with pytest.raises(ParameterError, match="no part that takes a seed"):
        topics.refit(model, EMBEDDINGS)
    model.hdbscan_model = LogisticRegression()  # as BERTopic takes it, with classes
    with pytest.raises(ParameterError, match="no hdbscan_model that clusters"):
        topics.refit(model, EMBEDDINGS)
    with pytest.raises(ParameterError, match="n_runs=1 must be at least 2"):
        topics.refit(StandIn(GIVEN), EMBEDDINGS, n_runs=1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"topic_model": SimpleNamespace()}, "has no topics_ yet; fit it first"),
        ({"topic_model": StandIn(np.zeros(160, int))}, "fewer than two topics"),
        ({"docs": DOCS[:-1]}, "docs has 159 rows and the topic model 160 documents"),
        ({"embeddings": EMBEDDINGS[1:]}, "embeddings has 159 rows"),
        ({"embeddings": None}, "embeddings=None is missing; give those of the documents"),
        ({"topics": ["a"] * 160}, "topics=.* has no list of integers"),
    ],
)
def test_what_does_not_fit_is_refused(change, message):
    arguments = {"topic_model": StandIn(GIVEN), "docs": DOCS, "embeddings": EMBEDDINGS}
    with pytest.raises(ValueError, match=message):
        topics.score(**(arguments | change), random_state=0)


def test_pictures_and_page(scored, tmp_path):
    figure = extra("matplotlib.figure").Figure()
    axes = figure.subplots(1, 4)
    drawn = scored.plot_map(ax=axes[0])
    assert len(drawn.missing_.get_offsets()) == (GIVEN == -1).sum()
    to = scored.plot_outliers(EMBEDDINGS[:, :2], accept=0.5, ax=axes[1]).to
    assert_array_equal(to >= 0, (GIVEN == -1) & (np.array(scored.topics()) >= 0))
    shown = " ".join(text.get_text() for text in axes[1].get_legend().get_texts())
    assert "0\\_word\\_other" in shown.replace("_", "\\_")
    rivals = scored.plot_rivals(most=3, ax=axes[2])
    assert rivals.shares.shape == (3, 3)
    assert "3 of 4 topics" in rivals.note_.get_text()
    own = scored.audit.evidence[GIVEN == 0].mean(axis=0)
    every = scored.plot_rivals(ax=figure.add_subplot())
    assert scored.audit.label_names.tolist() == [0, 3, 1, 2]  # as they first appear
    assert every.names == [f"{topic}_word_other" for topic in range(4)]
    assert every.shares[0, [3, 1, 2]] == pytest.approx(own[1:])
    runs = Ensemble.from_labels([[0, 0, 1, -1], [0, 1, 2, 2]])
    counted = scored.plot_counts(runs, ax=axes[3])
    assert (counted.counts.tolist(), counted.outliers.tolist()) == ([2, 3], [0.25, 0.0])
    assert [text.get_text() for text in axes[3].texts][:2] == ["25%", "0%"]
    scored.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert '"document"' in page
    assert '"names":{"0":"0: word, other","3":"3: word, other"' in page
    scored.report(tmp_path / "page.html", names={"0": "words"})
    assert '"names":{"0":"words"}' in (tmp_path / "page.html").read_text(encoding="utf-8")
