"""The colours of report, plots and pictures: distinct with every kind of colour vision.

Blue is kept or sure and orange is not, categories take the eight colours of Okabe and Ito (yellow
darkened, so that it shows on white), columns of numbers take viridis.
"""

from __future__ import annotations

BLUE, SKY, VERMILION, ORANGE = "#0072B2", "#56B4E9", "#D55E00", "#E69F00"
GREEN, PINK, YELLOW, GREY = "#009E73", "#CC79A7", "#C8B400", "#4D4D4D"
MISSING, BLACK = "#999999", "#000000"

# Of clusters, reasons and classes, in this order; the ninth has the first colour again.
CATEGORIES = (BLUE, ORANGE, GREEN, PINK, SKY, VERMILION, YELLOW, GREY)

# Nine stops of matplotlib's viridis, for values from low to high.
NUMBERS = (
    "#440154",
    "#472d7b",
    "#3b528b",
    "#2c728e",
    "#21918c",
    "#28ae80",
    "#5ec962",
    "#addc30",
    "#fde725",
)

# What the page names by its meaning. Letters on a card have a contrast of at least 4.5 to 1, points
# of any score one of at least 3 to 1; the soft colours are those beside the threshold.
LIGHT = {
    "kept": BLUE,
    "kept-soft": "#4A96C8",
    "kept-text": "#005A8C",
    "dropped": "#B84A00",
    "dropped-soft": "#DD7226",
    "dropped-text": "#A84600",
    "unscored": "#8A8F98",
}
DARK = {
    "kept": SKY,
    "kept-soft": "#2F79A8",
    "kept-text": "#7CC4F0",
    "dropped": "#FF8B3D",
    "dropped-soft": "#A85E28",
    "dropped-text": "#FFA366",
    "unscored": "#808995",
}
# Scores from low to high on light and on dark ground: the page cuts this ramp at its threshold, and
# plots draw it as it is. The lightness of the middle is that of the soft colours.
LIGHT_SCORES = (
    LIGHT["dropped"],
    LIGHT["dropped-soft"],
    "#8A8A8A",
    LIGHT["kept-soft"],
    LIGHT["kept"],
)
DARK_SCORES = (DARK["dropped"], DARK["dropped-soft"], "#7C7C7C", DARK["kept-soft"], DARK["kept"])
# Grey is dark on white, and light in the dark.
_DARK_CATEGORIES = (*CATEGORIES[:-1], "#B8C0CA")


def css_variables() -> str:
    """Return the colours as variables of a style sheet, for light and for dark screens."""
    numbers = _declare({f"number-{j}": color for j, color in enumerate(NUMBERS)})
    light = _declare(LIGHT | _numbered(CATEGORIES))
    dark = _declare(DARK | _numbered(_DARK_CATEGORIES))
    return (
        f":root {{ {light} {numbers} }}\n"
        f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n"
    )


def _numbered(colors: tuple[str, ...]) -> dict[str, str]:
    return {f"category-{j}": color for j, color in enumerate(colors)}


def _declare(colors: dict[str, str]) -> str:
    return " ".join(f"--{name}: {color};" for name, color in colors.items())
