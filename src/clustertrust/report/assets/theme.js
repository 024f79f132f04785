// Colours, from the style sheet to pixels. Orange is dropped, blue is kept: a pair that colour-blind eyes tell apart.

const NONE = 0, LEVELS = 127; // entries of a palette: no score; 1 to 127 dropped; 128 to 254 kept; 255 not selected

function cssColor(name) {
  const text = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  return [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
}

const mix = (a, b, share) => a.map((value, j) => Math.round(value + (b[j] - value) * share));
const pixel = ([red, green, blue]) => ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;

function readTheme() {
  const ramps = [[cssColor("--dropped"), cssColor("--dropped-soft")], [cssColor("--kept-soft"), cssColor("--kept")]];
  const palette = new Uint32Array(256);
  palette[NONE] = pixel(cssColor("--unscored"));
  for (let level = 0; level < LEVELS; level++) {
    palette[1 + level] = pixel(mix(...ramps[0], level / (LEVELS - 1)));
    palette[128 + level] = pixel(mix(...ramps[1], level / (LEVELS - 1)));
  }
  palette[255] = pixel(cssColor("--faint"));
  return { palette, card: pixel(cssColor("--card")) };
}

// Where each score falls in the palette: strongest at the lowest and the highest of all scores, and a clear step at the
// threshold.
function colorIndices(scores, threshold, [low, high], indices) {
  const level = (share) => Math.floor(Math.min(1, Math.max(0, share)) * (LEVELS - 1));
  for (let row = 0; row < scores.length; row++) {
    const score = scores[row];
    if (Number.isNaN(score)) indices[row] = NONE;
    else if (!isKept(score, threshold)) indices[row] = 1 + (threshold > low ? level((score - low) / (threshold - low)) : 0);
    else indices[row] = 128 + (high > threshold ? level((score - threshold) / (high - threshold)) : LEVELS - 1);
  }
}

// The lowest and the highest score.
function scoreRange(scores) {
  let low = Infinity, high = -Infinity;
  for (const score of scores) {
    if (score < low) low = score;
    if (score > high) high = score;
  }
  return low <= high ? [low, high] : [0, 1];
}

const SHORT = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 2 });

// Round numbers between low and high, about `wanted` of them.
function ticks(low, high, wanted) {
  const rough = (high - low) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((times) => times * power).find((value) => value >= rough) ?? rough;
  let decimals = 0; // as many as the step has: 2.5 has one
  while (decimals < 12 && Math.abs(step * 10 ** decimals - Math.round(step * 10 ** decimals)) > 1e-9 * step * 10 ** decimals) decimals++;
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high + step * 1e-9 && found.length < 50; at++) {
    found.push({ value: at * step, text: (at * step).toFixed(decimals).replace("-", "−") });
  }
  if (Math.max(Math.abs(low), Math.abs(high)) >= 1e5) {
    const short = found.map(({ value }) => SHORT.format(value));
    if (new Set(short).size === found.length) found.forEach((tick, j) => { tick.text = short[j]; });
  }
  return found;
}
