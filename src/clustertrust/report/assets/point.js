// The panel on one point: why it scored as it did, and its values beside those of the two clusters it could belong to.

const COMPONENTS = {
  stability: "Stability", geometry: "Geometry", persistence: "Persistence", second_opinions: "Second opinions",
  silhouette_mean: "Mean silhouette", silhouette_std: "Its spread",
};

function describePoint(data, row, threshold) {
  const { points } = data;
  const name = data.id(data.position(row));
  const cluster = points.label[row], rival = points.rival ? points.rival[row] : -1;
  const score = points.score[row];
  const kind = Number.isNaN(score) ? "unscored" : isKept(score, threshold) ? "kept" : "dropped";
  const error = points.standard_error ? errorText(points.standard_error[row]) : "";
  const parts = [
    element("p", { class: "verdict" },
      element("span", { class: `score large ${kind}` }, fixed(score)),
      error ? element("span", { class: "muted" }, `± ${error}`) : null,
      element("span", { class: "muted" }, kind === "unscored" ? "no score" : kind),
    ),
    element("p", {},
      ...(cluster < 0 ? ["In no cluster"] : ["Cluster ", element("b", {}, clusterName(data, cluster))]),
      ...(rival < 0 ? [] : [", rival ", element("b", {}, clusterName(data, rival))])),
  ];
  if (data.reasons) parts.push(element("p", { class: "why" }, reasonText(data, row, threshold)));
  const known = Object.entries(COMPONENTS).filter(([key]) => points[key]);
  const facts = known.map(([key, text]) => meter(text, points[key][row]));
  const found = votesOf(data, row);
  const shares = percents(found.map(([, share]) => share));
  const votes = found.map(([code, share], j) => meter(clusterName(data, code), share, shares[j]));
  if (facts.length) parts.push(element("h3", {}, "Components"), element("div", { class: "meters" }, ...facts.flat()));
  if (votes.length) parts.push(element("h3", {}, "Votes of the runs"), element("div", { class: "meters" }, ...votes.flat()));
  if (data.values) parts.push(...valueTable(data, row, cluster, rival));
  if (data.original.length) parts.push(...ownTable(data, data.position(row)));
  return { name, parts };
}

// The point as it stands in the table that it comes from.
function ownTable(data, position) {
  const lines = data.original.map(({ name, text }) => element(
    "tr", {}, element("th", { scope: "row" }, name), element("td", {}, text(position)),
  ));
  return [element("h3", {}, "In your table"), element("table", { class: "values own" }, element("tbody", {}, ...lines))];
}

function meter(text, value, shown = fixed(value)) {
  const bar = element("span", { class: "meter", "aria-hidden": "true" }, element("span"));
  bar.firstChild.style.width = `${100 * Math.min(1, Math.max(0, value || 0))}%`;
  return [element("span", { class: "what" }, text), bar, element("span", { class: "number" }, shown)];
}

function valueTable(data, row, cluster, rival) {
  const { columns, of, data: values, means } = data.values;
  const width = columns.length;
  const others = [cluster, rival].filter((code) => code >= 0);
  const head = ["", "value", ...others.map((code) => `mean of ${shorten(clusterName(data, code), 16)}`)];
  const lines = columns.map((name, j) => element(
    "tr", {}, element("th", { scope: "row" }, name), element("td", { class: "number" }, digits(values[row * width + j])),
    ...others.map((code) => element("td", { class: "number muted" }, digits(means[code * width + j]))),
  ));
  const title = width < of ? `Values: the ${width} of ${count(of)} columns in which the clusters differ most` : "Values";
  const top = element("tr", {}, ...head.map((text, j) => element("th", { scope: "col", class: j ? "number" : "" }, text)));
  const table = element("table", { class: "values" }, element("thead", {}, top), element("tbody", {}, ...lines));
  return [element("h3", {}, title), table];
}
