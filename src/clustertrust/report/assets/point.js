// The panel on one point: why it scored as it did, and its row beside the two clusters it could belong to.

const COMPONENTS = {
  stability: "Stability", geometry: "Geometry", persistence: "Persistence", second_opinions: "Second opinions",
  classifier_margin: "Classifiers", silhouette_mean: "Mean silhouette", silhouette_std: "Its spread",
};
// What a column may hold that is shown as a picture; nothing is asked of the network, and no such picture is a program.
const PICTURE_DATA = /^data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+$/;

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
  parts.push(...otherOpinions(data, row, cluster).map((text) => element("p", { class: "opinion" }, text)));
  if (data.reasons) parts.push(element("p", { class: "why" }, reasonText(data, row, threshold)));
  const planned = data.cards.some((card) => card.role === "ignored" || card.role === "names");
  const own = ownParts(data, data.position(row), data.original.filter(({ used }) => !used), planned ? "Not clustered: " : "");
  parts.push(...own.parts);
  // Of given labels there is one silhouette.
  const components = data.audit ? { ...COMPONENTS, silhouette_mean: "Silhouette", silhouette_std: "" } : COMPONENTS;
  const known = Object.entries(components).filter(([key, text]) => text && points[key]);
  const facts = known.map(([key, text]) => meter(text, points[key][row]));
  const found = votesOf(data, row);
  const shares = percents(found.map(([, share]) => share));
  const votes = found.map(([code, share], j) => meter(clusterName(data, code), share, shares[j]));
  if (facts.length) parts.push(element("h3", {}, "Components"), element("div", { class: "meters" }, ...facts.flat()));
  if (votes.length) parts.push(element("h3", {}, "Votes of the runs"), element("div", { class: "meters" }, ...votes.flat()));
  parts.push(...valueTable(data, row, cluster, rival));
  if (own.short.length) parts.push(element("h3", {}, planned ? "Not clustered" : "In your table"), ownTable(own.short));
  return { name, parts };
}

// What else was said about the label: by other methods, and by an audit.
function otherOpinions({ points, ...data }, row, cluster) {
  const texts = [];
  const suggested = points.suggested?.[row] ?? -1;
  if (suggested >= 0 && suggested !== cluster) texts.push(`Suggested: ${clusterName(data, suggested)}${points.suggested_score ? `, with ${percent(points.suggested_score[row])} of the votes` : ""}.`);
  const share = points.second_opinions?.[row];
  if (share === undefined || Number.isNaN(share)) return texts;
  const choice = points.second_choice?.[row] ?? -1;
  const other = choice >= 0 && choice !== cluster ? `; most of them choose ${clusterName(data, choice)}` : "";
  return [...texts, `Other methods: ${percent(share)} of their runs give it this cluster${other}.`];
}

// Pictures and long texts of a row in these columns of the user's table, to be shown, and the rest as [name, text].
function ownParts(data, position, columns, before = "") {
  const parts = [], short = [];
  for (const { name, text: textOf } of columns) {
    const text = textOf(position);
    const source = (data.pictures?.column === name && data.pictures.of[position]) || (PICTURE_DATA.test(text) ? text : null);
    if (source) parts.push(element("img", { class: "picture", src: source, alt: `${name} of ${data.id(position)}` }));
    else if (text.length > LONG_TEXT) parts.push(element("h3", {}, `${before}${name}`), element("p", { class: "own-text" }, text));
    else if (name !== data.id_name) short.push([name, text]);
  }
  return { parts, short };
}

// What was not compared above.
function ownTable(entries) {
  const lines = entries.map(([name, text]) => element("tr", {}, element("th", { scope: "row" }, name), element("td", { class: text ? "" : "muted" }, text || "missing")));
  return element("table", { class: "values" }, element("tbody", {}, ...lines));
}

// The first picture of a row, small; null: it has none.
function thumbnail(data, position) {
  const own = data.original.map(({ text }) => text(position)).find((text) => PICTURE_DATA.test(text));
  const source = data.pictures?.of[position] ?? own;
  return source ? element("img", { class: "thumbnail", src: source, alt: "" }) : null;
}

function meter(text, value, shown = fixed(value)) {
  const bar = element("span", { class: "meter", "aria-hidden": "true" }, element("span"));
  bar.firstChild.style.width = `${100 * Math.min(1, Math.max(0, value || 0))}%`;
  return [element("span", { class: "what" }, text), bar, element("span", { class: "number" }, shown)];
}

// Every column that was used: of numbers the means of both clusters, of categories how many of each share the value. The
// cluster that the value speaks for stands out.
function valueTable(data, row, cluster, rival) {
  const others = [cluster, rival].filter((code) => code >= 0);
  // `fits`: how well the value fits each cluster.
  const line = (name, value, texts, fits) => element("tr", {}, element("th", { scope: "row" }, name), element("td", { class: "number" }, value),
    ...texts.map((text, j) => element("td", { class: `number ${fits[j] > fits[1 - j] ? "nearer" : "muted"}` }, text)));
  const lines = [];
  const { columns, of, data: values, means } = data.values ?? { columns: [], of: 0 };
  const width = columns.length;
  const categories = usedCategories(data);
  columns.forEach((name, j) => {
    if (categories.some((card) => card.name === name)) return;
    const own = values[row * width + j];
    const there = others.map((code) => means[code * width + j]);
    lines.push(line(name, Number.isNaN(own) ? "missing" : digits(own), there.map(brief), there.map((mean) => -Math.abs(own - mean))));
  });
  for (const { name, bars: { codes, counts, texts } } of categories) {
    const bars = texts.length + 1, code = codes[row];
    const total = (group) => counts.subarray(group * bars, group * bars + texts.length).reduce((sum, value) => sum + value, 0);
    const shares = others.map((group) => (code < texts.length ? counts[group * bars + code] / Math.max(1, total(group)) : NaN));
    lines.push(line(name, code < texts.length ? texts[code] : "missing", shares.map((share) => (Number.isNaN(share) ? "–" : percent(share))), shares));
  }
  if (!lines.length) return [];
  const what = categories.length ? (width ? "mean or share in" : "share in") : "mean of";
  const head = ["", "value", ...others.map((code) => `${what} ${shorten(clusterName(data, code), 16)}`)];
  const title = width < of ? `Values: the ${width} of ${count(of)} columns in which the clusters differ most` : "Values";
  const top = element("tr", {}, ...head.map((text, j) => element(text ? "th" : "td", { scope: text ? "col" : null, class: j ? "number" : "" }, text)));
  const table = element("table", { class: "values" }, element("thead", {}, top), element("tbody", {}, ...lines));
  const hint = others.length > 1 ? element("p", { class: "hint" }, "Bold: the cluster that the value fits better.") : null;
  return [element("h3", {}, title), table, ...(hint ? [hint] : [])];
}

const usedCategories = (data) => data.cards.filter((card) => card.used && card.bars?.kind === "categories");
