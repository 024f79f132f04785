// What the colour of a point says: its score, its cluster, the reason, or any column. A colouring fills the indices of
// the points into a palette and describes itself in the legend.

const MOST_CATEGORIES = 8; // colours that can be told apart
const MOST_KEYS = 12; // entries of a legend

// Colours by name in the style sheet; entry 0 is "none", 255 is "not selected".
function categoryPalette(theme) {
  const palette = new Uint32Array(256).fill(theme.palette[NONE]);
  for (let j = 0; j < 254; j++) palette[1 + j] = pixel(cssColor(`--category-${j % MOST_CATEGORIES}`));
  palette[255] = theme.palette[255];
  return palette;
}

function numberPalette(theme) {
  const stops = Array.from({ length: 9 }, (_, j) => cssColor(`--number-${j}`));
  const palette = new Uint32Array(256).fill(theme.palette[NONE]);
  for (let level = 0; level < 254; level++) {
    const at = (level / 253) * 8, j = Math.min(7, Math.floor(at));
    palette[1 + level] = pixel(mix(stops[j], stops[j + 1], at - j));
  }
  palette[255] = theme.palette[255];
  return palette;
}

const key = (text, place) => {
  const made = element("span", { class: "key" }, text);
  made.style.setProperty("--key", place === null ? "var(--unscored)" : `var(--category-${place % MOST_CATEGORIES})`);
  return made;
};

// Categories: `of` a row is its number among the names, negative for none.
function categories(names, of, none) {
  return {
    palette: categoryPalette,
    paint(order, indices) {
      order.forEach((row, at) => { indices[at] = of(row) < 0 ? 0 : 1 + (of(row) % 254); });
    },
    legend(theme, there) {
      const shown = names.map((_, j) => j).filter((j) => there.has(j));
      const keys = shown.slice(0, MOST_KEYS).map((j) => key(shorten(names[j], 24), j));
      if (shown.length > MOST_KEYS) keys.push(element("span", {}, `and ${count(shown.length - MOST_KEYS)} more`));
      if (shown.length > MOST_CATEGORIES) keys.push(element("span", {}, "(colours repeat)"));
      if (there.has(-1)) keys.push(key(none, null));
      return keys;
    },
    of,
    tell: (row) => (of(row) < 0 ? none : names[of(row)]),
  };
}

// Numbers, from the first to the last percent of the points: one far outlier does not take all colours.
function numbers(value, m) {
  const sorted = Float64Array.from({ length: m }, (_, row) => value(row)).filter((number) => !Number.isNaN(number)).sort();
  const at = (share) => sorted[Math.round(share * (sorted.length - 1))];
  const whole = at(0.99) - at(0.01) > 0.2 * (at(1) - at(0)); // no far outlier: the whole range
  const [low, high] = whole ? [at(0), at(1)] : [at(0.01), at(0.99)];
  const level = (number) => Math.round(253 * Math.min(1, Math.max(0, (number - low) / (high - low || 1))));
  return {
    palette: numberPalette,
    paint(order, indices) {
      order.forEach((row, i) => { indices[i] = Number.isNaN(value(row)) ? 0 : 1 + level(value(row)); });
    },
    legend() {
      const missing = sorted.length < m ? [key("missing", null)] : [];
      if (!sorted.length) return missing;
      const text = (number, sign) => `${whole ? "" : `${sign} `}${digits(number)}`;
      return [element("span", {}, text(low, "≤")), element("span", { class: "ramp numbers", "aria-hidden": "true" }), element("span", {}, text(high, "≥")), ...missing];
    },
    of: () => 0,
    tell: (row) => digits(value(row)),
  };
}

// [name, text, group] of what the points can be coloured by; the score is the page's own.
function colourChoices(data) {
  const own = ["stability", "geometry", "persistence", "second_opinions"].filter((name) => data.points[name]);
  return [
    ["score", "score", ""], ["cluster", "cluster", ""], ...(data.reasons ? [["reason", "reason", ""]] : []),
    ...own.map((name) => [`part:${name}`, name.replace("_", " "), ""]),
    ...(data.values?.columns ?? []).map((name, j) => [`column:${j}`, name, "Columns"]),
    ...categoryColumns(data).map(({ name, at }) => [`own:${at}`, name, "Categories"]),
  ];
}

// Columns of the user's table with few different entries that are not numbers.
function categoryColumns(data) {
  data.categories ??= (data.original ?? []).map(({ name, text }, at) => {
    const entries = new Map();
    for (let row = 0; row < data.m && entries.size <= 30; row++) {
      const entry = text(data.position(row));
      if (entry !== "") entries.set(entry, (entries.get(entry) ?? 0) + 1);
    }
    const words = [...entries.keys()].some((entry) => Number.isNaN(Number(entry)));
    const names = [...entries].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).map(([entry]) => entry);
    return entries.size > 1 && entries.size <= 30 && words ? { name, at, names, text } : null;
  }).filter((found) => found !== null);
  return data.categories;
}

function colouring(data, name, threshold) {
  const [kind, which] = name.split(":");
  if (kind === "cluster") return categories(data.clusters.map((_, code) => clusterName(data, code)), (row) => data.points.label[row], "no cluster");
  if (kind === "reason") return categories(data.reasons.names, (row) => reasonOf(data, data.position(row), threshold), "none");
  if (kind === "part") return numbers((row) => data.points[which][row], data.m);
  if (kind === "column") {
    const { columns, data: values } = data.values;
    return numbers((row) => values[row * columns.length + Number(which)], data.m);
  }
  const { names, text } = categoryColumns(data).find(({ at }) => at === Number(which));
  const place = new Map(names.map((entry, j) => [entry, j]));
  return categories(names, (row) => place.get(text(data.position(row))) ?? -1, "missing");
}

// A list to choose from, with headings for its groups; what can be chosen.
function fillChoices(select, choices) {
  for (const group of new Set(choices.map(([, , heading]) => heading))) {
    const options = choices.filter(([, , heading]) => heading === group).map(([value, text]) => element("option", { value }, shorten(text, 40)));
    select.append(...(group ? [element("optgroup", { label: group }, ...options)] : options));
  }
  return choices.map(([value]) => value);
}
