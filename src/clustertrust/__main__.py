"""`python -m clustertrust`: score a built-in data set and print a summary."""

from __future__ import annotations

from sklearn.datasets import load_iris

from clustertrust import CAKE, __version__


def main() -> None:
    """Score Iris."""
    iris = load_iris()
    cake = CAKE(n_clusters=3, random_state=0).fit(iris.data)
    print(f"clustertrust {__version__}: how far can each assignment of 3-means on Iris be trusted?\n")
    print(cake.summary())
    worst = int(cake.scores_.argmin())
    print(f"\nWhy did point {worst} score as it did?\n{cake.explain(worst)}")


if __name__ == "__main__":
    main()
