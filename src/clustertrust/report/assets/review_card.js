// One point to judge: its values beside the means of its cluster and of its rival, and where they lie in the data.

const STRIP = { width: 120, height: 14, edge: 5 };
const FIRST_COLUMNS = 12;
const LONG_TEXT = 60; // letters, from which on a text has a paragraph of its own
// Three digits, or all before the point.
const brief = (value) => {
  const whole = value ? Math.floor(Math.log10(Math.abs(value))) + 1 : 1;
  return digits(Number.isFinite(whole) ? Number(value.toPrecision(Math.min(15, Math.max(3, whole)))) : value).replace("-", "−");
};

// The smallest and largest value of each column, and its spread; computed at the first question.
function columnRanges({ values: { columns, data: values } }) {
  const width = columns.length;
  return columns.map((_, j) => {
    let low = Infinity, high = -Infinity, sum = 0, squares = 0, n = 0;
    for (let at = j; at < values.length; at += width) {
      const value = values[at];
      if (Number.isNaN(value)) continue;
      if (value < low) low = value;
      if (value > high) high = value;
      n++;
      const before = value - sum;
      sum += before / n; // the mean so far: squares of large numbers would lose their digits
      squares += before * (value - sum);
    }
    return { low, high, spread: Math.sqrt(squares / Math.max(1, n)) };
  });
}

function strip(range, value, own, other) {
  const { width, height, edge } = STRIP;
  const span = range.high - range.low || 1;
  const x = (number) => edge + ((number - range.low) / span) * (width - 2 * edge);
  const svg = shape("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
  svg.append(shape("line", { class: "axis", x1: edge, x2: width - edge, y1: height / 2, y2: height / 2 }));
  const dot = (number, name) => {
    if (Number.isFinite(number)) svg.append(shape("circle", { class: name, cx: x(number), cy: height / 2, r: 4 }));
  };
  dot(other, "other");
  dot(own, "own");
  if (Number.isFinite(value)) svg.append(shape("rect", { class: "here", x: x(value) - 1.5, y: 0, width: 3, height }));
  return svg;
}

function questionTable(data, ranges, row) {
  const { columns, of, data: values, means } = data.values;
  const width = columns.length;
  const own = data.points.label[row], rival = data.points.rival ? data.points.rival[row] : -1;
  const mean = (code, j) => (code < 0 ? NaN : means[code * width + j]);
  // Columns that tell the two clusters apart come first; without a rival, those in which the point is unusual.
  const contrast = (j) => {
    const from = rival < 0 ? values[row * width + j] : mean(rival, j);
    return Math.abs(mean(own, j) - from) / (ranges[j].spread || 1) || 0;
  };
  const order = columns.map((_, j) => j).sort((a, b) => contrast(b) - contrast(a) || a - b);
  const others = [own, rival].filter((code) => code >= 0);
  const line = (j) => {
    const value = values[row * width + j];
    return element(
      "tr", {}, element("th", { scope: "row" }, columns[j]), element("td", { class: "number" }, brief(value)),
      ...others.map((code) => element("td", { class: "number muted" }, brief(mean(code, j)))),
      element("td", { class: "strip" }, strip(ranges[j], value, mean(own, j), mean(rival, j))),
    );
  };
  const title = (code, name) => element("th", { scope: "col", class: "number" }, element("span", { class: name }), `mean of ${shorten(clusterName(data, code), 16)}`);
  const head = element("tr", {}, element("th", { scope: "col" }, "column"),
    element("th", { scope: "col", class: "number" }, element("span", { class: "mark here" }), "this point"),
    ...others.map((code, place) => title(code, `mark ${place ? "other" : "own"}`)),
    element("th", { scope: "col", class: "strip" }, "lowest to highest"));
  const table = (rows, name) => element("table", { class: `values ${name}` }, element("thead", {}, head.cloneNode(true)), element("tbody", {}, ...rows.map(line)));
  const shown = order.length <= FIRST_COLUMNS + 3 ? order.length : FIRST_COLUMNS; // no fold for one or two
  const parts = [table(order.slice(0, shown), "first")];
  const rest = order.slice(shown);
  if (rest.length) {
    parts.push(element("details", { class: "more" }, element("summary", {}, `${rest.length} more columns`), table(rest, "rest")));
  }
  if (width < of) parts.push(element("p", { class: "hint" }, `The ${width} of ${count(of)} columns in which the clusters differ most.`));
  return parts;
}

// What is shown of a point; its score stays closed, so that it sways nobody.
function describeQuestion(data, ranges, row, threshold) {
  const { parts } = describePoint({ ...data, values: null, original: [] }, row, threshold);
  const runs = element("details", { class: "more runs" }, element("summary", {}, "What the runs say (look after you have judged)"), ...parts);
  const shown = new Set(data.values?.columns);
  const { parts: own, short } = ownParts(data, data.position(row), data.original.filter(({ name, unasked }) => !unasked && !shown.has(name)));
  const entries = short.filter(([, text]) => text !== "");
  if (entries.length) own.push(element("dl", { class: "own-facts" }, ...entries.flatMap(([name, text]) => [element("dt", {}, name), element("dd", {}, text)])));
  if (data.values) own.push(...questionTable(data, ranges, row));
  if (!own.length) own.push(element("p", { class: "muted" }, "This page was made without the data, so it shows only the names of the points."));
  return [...own, runs];
}
