// The table of points: sorted, searched, split at the threshold, a page at a time.

const PAGE = matchMedia("(max-width: 640px)").matches ? 10 : 25;
const COLUMNS = [
  { key: "id", text: "Point", about: "its id" },
  { key: "label", text: "Cluster", about: "consensus of the runs", given: "the label that was given" },
  { key: "suggested", text: "Suggested", about: "the label with the most votes of runs and classifiers" },
  { key: "score", text: "Score", number: true, about: "0: ambiguous, 1: sure" },
  { key: "standard_error", text: "±", number: true, about: "standard error of the score over other runs; empty: 0" },
  { key: "stability", text: "Stability", number: true, about: "how much the runs agree on it", given: "share of the runs that agree with the label" },
  { key: "geometry", text: "Geometry", number: true, about: "silhouette, mean less spread over the runs", given: "silhouette among the given clusters, from 0 to 1" },
  { key: "persistence", text: "Persistence", number: true, about: "posterior its label keeps when clusters take their own spread" },
  { key: "second_opinions", text: "Other methods", number: true, about: "second opinions: share of the runs of other methods that give it this cluster" },
  { key: "votes", text: "Votes", about: "share of the runs for each cluster; sorted by the largest" },
  { key: "rival", text: "Rival", about: "second most votes, else the nearest other cluster" },
  { key: "reason", text: "Why" },
];

const LONG_NAME = 100; // letters of a name or a text; the panel has all
const SHORT_NAME = 24; // of each of several clusters

class PointTable {
  constructor(table, data, look) {
    Object.assign(this, { table, data, look, page: 0, query: "", show: "dropped", sort: { key: "score", down: false } });
    this.text = data.original.find(({ name }) => name === data.text_column)?.text;
    const there = { ...data.points, id: true, votes: data.votes || data.points.consensus_strength, reason: data.reasons };
    this.columns = COLUMNS.filter((column) => there[column.key] && this.says(column.key));
    this.head = this.columns.map(({ key, text, number, about, given }) => {
      const button = element("button", { type: "button", title: (data.audit && given) || (about ?? null), onclick: () => this.sortBy(key) }, text);
      return element("th", { scope: "col", "data-key": key, class: number ? "number" : "" }, button);
    });
    table.append(element("thead", {}, element("tr", {}, ...this.head)), element("tbody"));
    this.arrange();
  }

  // Whether a column differs from point to point: errors that are all 0, or votes that all agree, say nothing. What an audit
  // suggests is the rival of a doubtful label.
  says(key) {
    const { points, m } = this.data;
    if (key === "rival") return !points.suggested;
    if (key === "standard_error") return points.standard_error.some((error) => error > 0);
    if (key !== "votes") return true;
    for (let row = 0; row < m; row++) if (this.strength(row) < 1) return true;
    return false;
  }

  // What a row is sorted by; text and numbers alike, NaN for nothing.
  value(key, row) {
    const { data } = this;
    if (key === "id") return this.ranks()[row];
    if (key === "votes") return this.strength(row);
    if (key === "reason") return this.reason(row);
    return data.points[key][row];
  }

  reason(row) {
    return reasonOf(this.data, this.data.position(row), this.threshold);
  }

  // Places of the ids in their order: 2 before 10, also inside text.
  ranks() {
    const { data } = this;
    if (!this.ranked) {
      const names = Array.from({ length: data.m }, (_, row) => data.id(data.position(row)));
      const { compare } = new Intl.Collator("en", { numeric: true });
      const rows = Uint32Array.from(names, (_, row) => row).sort((a, b) => compare(names[a], names[b]) || a - b);
      this.ranked = new Uint32Array(data.m);
      rows.forEach((row, place) => { this.ranked[row] = place; });
    }
    return this.ranked;
  }

  strength(row) {
    const { votes, points } = this.data;
    return votes ? votes.shares[row * votes.width] : points.consensus_strength[row];
  }

  sortBy(key) {
    this.sort = { key, down: this.sort.key === key && !this.sort.down };
    this.page = 0;
    this.arrange();
    this.filter();
  }

  // The order of all rows, in which the threshold changes reasons alone: ties by score, then by stability, then as they came.
  arrange() {
    const { key, down } = this.sort;
    const { score, stability } = this.data.points;
    const m = this.data.m;
    const main = Float64Array.from({ length: m }, (_, row) => this.value(key, row));
    const order = Uint32Array.from({ length: m }, (_, row) => row);
    const sign = down ? -1 : 1;
    // NaN comes last, whichever way the rest are sorted: its infinity is told from a difference below.
    const compare = (a, b) => (Number.isNaN(a) ? (Number.isNaN(b) ? 0 : Infinity) : Number.isNaN(b) ? -Infinity : a - b);
    const ordered = (a, b) => {
      const first = compare(main[a], main[b]);
      return (Number.isFinite(first) ? sign * first : first) || compare(score[a], score[b])
        || (stability ? compare(stability[a], stability[b]) : 0) || a - b;
    };
    this.order = order.sort(ordered);
    this.head.forEach((cell) => markSorted(cell, cell.dataset.key === key, down));
  }

  texts() {
    const { data } = this;
    this.cache ??= Array.from({ length: data.m }, (_, row) => [
      data.id(data.position(row)),
      clusterName(data, data.points.label[row]),
      ...data.original.map(({ text }) => text(data.position(row))),
    ].join("\n").toLowerCase());
    return this.cache;
  }

  // A query is looked for in a point's id, cluster, reason and in its row of the user's table.
  filter() {
    const { data: { points: { score }, reasons }, show, selection, threshold } = this;
    const query = this.query.trim().toLowerCase();
    const texts = query ? this.texts() : null;
    const why = reasons?.names.map((name, code) => `${name}: ${reasons.sentences[code]}`.toLowerCase().includes(query));
    const shown = {
      all: () => true,
      kept: (value) => isKept(value, threshold),
      dropped: (value) => !Number.isNaN(value) && !isKept(value, threshold),
      unscored: Number.isNaN,
    }[show];
    const wanted = (row) => {
      if (selection && !selection[row]) return false;
      if (!shown(score[row])) return false;
      return !texts || texts[row].includes(query) || (why && why[this.reason(row)]);
    };
    const found = new Uint32Array(this.order.length);
    let size = 0;
    for (const row of this.order) if (wanted(row)) found[size++] = row;
    this.found = found.subarray(0, size);
    this.page = Math.min(this.page, Math.max(0, Math.ceil(this.found.length / PAGE) - 1));
    this.fill();
  }

  update(threshold, selection, selectionName) {
    Object.assign(this, { threshold, selection, selectionName });
    if (this.sort.key === "reason") this.arrange();
    this.filter();
  }

  // Another query, or another part of the points.
  ask(wish) {
    Object.assign(this, wish, { page: 0 });
    this.filter();
  }

  turn(step) {
    const last = Math.max(0, Math.ceil(this.found.length / PAGE) - 1);
    this.page = Math.min(last, Math.max(0, this.page + step));
    this.fill();
  }

  fill() {
    const rows = [...this.found.slice(this.page * PAGE, (this.page + 1) * PAGE)];
    const lines = rows.map((row) => {
      const line = element("tr", {}, ...this.columns.map((column) => this.cell(column, row)));
      line.addEventListener("click", (event) => { if (!event.target.closest("button")) this.look(row, null); });
      return line;
    });
    if (!rows.length) {
      const nothing = element("td", { class: "empty", colspan: this.columns.length }, "No such points.");
      lines.push(element("tr", {}, nothing));
    }
    this.table.tBodies[0].replaceChildren(...lines);
    const first = this.page * PAGE;
    const total = count(this.found.length);
    $("page").textContent = rows.length ? `${count(first + 1)} to ${count(first + rows.length)} of ${total}` : "0 of 0";
    $("previous").disabled = this.page === 0;
    $("next").disabled = first + PAGE >= this.found.length;
    $("points-title").textContent = this.heading();
    $("listed").textContent = this.describe();
    this.explain(rows);
  }

  // What is listed, and in which order.
  heading() {
    const { key, down } = this.sort;
    const kinds = { all: "All points", kept: "Kept points", dropped: "Dropped points", unscored: "Points without a score" };
    const chosen = { all: "Points", kept: "Kept points", dropped: "Dropped points", unscored: "Points without a score" };
    const what = this.selection ? `${chosen[this.show]} ${this.selectionName}` : kinds[this.show];
    if (this.show === "unscored") return what;
    if (key === "score") return `${what}, the ${down ? "surest" : "most ambiguous"} first`;
    return `${what}, by ${{ id: "name", label: "cluster", standard_error: "standard error" }[key] ?? key}`;
  }

  // What the reasons on this page of the table mean, once.
  explain(rows) {
    const { data } = this;
    if (!data.reasons) return;
    const { names, sentences, boundary, near } = data.reasons;
    const found = new Map();
    for (const row of rows) {
      const code = this.reason(row);
      if (code === boundary && isNear(data, row)) found.set(code + 0.5, ["Boundary, by distance", near]);
      else found.set(code, [capital(names[code]), sentences[code]]);
    }
    const inOrder = [...found].sort((a, b) => a[0] - b[0]).flatMap(([, words]) => words);
    $("reasons").replaceChildren(...inOrder.map((text, j) => element(j % 2 ? "dd" : "dt", {}, text)));
  }

  // The reason without what the columns beside it and the list below the table say.
  brief(row) {
    const [head] = reasonParts(this.data, row, this.threshold);
    const { boundary } = this.data.reasons;
    if (this.reason(row) !== boundary) return head;
    return isNear(this.data, row) ? `${head}, by distance` : head.replace(/ \([^()]*\)$/, "");
  }

  describe() {
    const at = digits(this.threshold);
    const kind = {
      all: "", kept: ` with a score above ${at}`, dropped: ` with a score up to ${at}`, unscored: " without a score",
    }[this.show];
    const which = this.selection ? ` ${this.selectionName}` : "";
    const query = this.query.trim() ? `, matching “${this.query.trim()}”` : "";
    const what = `${this.data.drawn ? "drawn " : ""}${this.found.length === 1 ? "point" : "points"}`;
    return `${count(this.found.length)} ${what}${which}${kind}${query}`;
  }

  cell({ key, number, text }, row) {
    const { data } = this;
    const wrap = (...children) => element("td", { class: number ? "number" : key, "data-name": text }, ...children);
    if (key === "id") {
      const name = data.id(data.position(row));
      const button = element("button", { type: "button", class: name.length <= 24 ? "link short" : "link", title: name.length > LONG_NAME ? name : null }, shorten(name, LONG_NAME));
      button.addEventListener("click", () => this.look(row, button));
      const text = this.text && data.text_column !== data.id_name ? element("span", { class: "quote" }, shorten(this.text(data.position(row)), LONG_NAME)) : null;
      return wrap(thumbnail(data, data.position(row)), button, text);
    }
    if (["label", "suggested", "rival"].includes(key)) return wrap(clusterName(data, data.points[key][row]));
    if (key === "reason") return wrap(this.brief(row));
    if (key === "votes") return wrap(...voteBar(data, row));
    const value = data.points[key][row];
    if (key === "standard_error") return wrap(errorText(value));
    if (key !== "score") return wrap(fixed(value));
    const kind = Number.isNaN(value) ? "unscored" : isKept(value, this.threshold) ? "kept" : "dropped";
    return wrap(element("span", { class: `score ${kind}` }, fixed(value)));
  }
}

// A bar of shares, and the same in words.
function voteBar(data, row) {
  const votes = votesOf(data, row);
  if (!votes.length) return ["none"];
  if (votes[0][1] >= 1 && votes[0][0] === data.points.label[row]) return [element("span", { class: "muted" }, "all")];
  const bar = element("span", { class: "votebar", "aria-hidden": "true" });
  for (const [cluster, share] of votes) {
    const part = element("span", { class: cluster === data.points.label[row] ? "own" : "" });
    part.style.width = `${100 * share}%`;
    bar.append(part);
  }
  const shares = percents(votes.map(([, share]) => share));
  // A line can break after each.
  const words = votes.flatMap(([cluster], j) => {
    const comma = j < votes.length - 1 ? "," : "";
    return [element("span", {}, `${shorten(clusterName(data, cluster), SHORT_NAME)}: ${shares[j]}${comma}`), " "];
  });
  return [bar, element("span", { class: "shares" }, ...words)];
}
