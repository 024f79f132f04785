// The table of clusters: sizes, points kept, mean score and the distribution of scores, sorted by any of them.

const SPARK = { width: 150, bins: 40 };

// What never changes: for each cluster, and for points in none, its scores in rising order and their histogram.
function groupScores(data) {
  const { label, score } = data.all;
  const k = data.clusters.length;
  const sizes = new Array(k + 1).fill(0), scored = new Array(k + 1).fill(0);
  const at = (code) => (code < 0 ? k : code);
  for (let i = 0; i < data.n; i++) {
    sizes[at(label[i])]++;
    if (!Number.isNaN(score[i])) scored[at(label[i])]++;
  }
  const sorted = scored.map((size) => new Float64Array(size));
  const next = new Array(k + 1).fill(0);
  for (let i = 0; i < data.n; i++) {
    if (!Number.isNaN(score[i])) sorted[at(label[i])][next[at(label[i])]++] = score[i];
  }
  const groups = sorted.map((scores, g) => {
    scores.sort();
    let sum = 0;
    const bins = new Array(SPARK.bins).fill(0);
    for (const value of scores) {
      sum += value;
      bins[Math.min(SPARK.bins - 1, Math.floor(value * SPARK.bins))]++;
    }
    const code = g < k ? g : -1;
    return { code, name: code < 0 ? "none" : data.clusters[code], size: sizes[g], scores, bins, mean: sum / scores.length };
  });
  return groups.filter((group) => group.code >= 0 || group.size > 0);
}

class ClusterTable {
  // `nameOf`: what a cluster is called now.
  constructor(table, groups, choose, nameOf) {
    Object.assign(this, { table, choose, nameOf });
    this.sort = { key: "name", down: false };
    this.rows = groups.map((group) => this.row(group));
    this.head = [["name", "Cluster"], ["size", "Points"], ["kept", "Kept"], ["mean", "Mean"]].map(([key, text]) => {
      const button = element("button", { type: "button", onclick: () => this.sortBy(key) }, text);
      return element("th", { scope: "col", "data-key": key, class: key === "name" ? "" : "number" }, button);
    });
    const scale = element("span", { class: "scale" }, ...["0", "scores", "1"].map((text) => element("span", {}, text)));
    table.append(
      element("thead", {}, element("tr", {}, ...this.head, element("th", { scope: "col", class: "spread" }, scale))),
      element("tbody"),
    );
    const many = groups.length;
    table.style.setProperty("--spark", `${many <= 4 ? 64 : many <= 8 ? 40 : many <= 14 ? 28 : 20}px`);
    this.arrange();
  }

  row(group) {
    const svg = shape("svg", { viewBox: `0 0 ${SPARK.width} 20`, preserveAspectRatio: "none", "aria-hidden": "true" });
    const most = Math.max(1, ...group.bins);
    const step = SPARK.width / SPARK.bins;
    const paths = ["dropped", "kept"].map((name) => shape("path", { class: name }));
    svg.append(...paths, shape("line", { class: "cut", y1: 0, y2: 20 }));
    const top = (j) => 20 - 18 * Math.sqrt(group.bins[j] / most); // square roots: small heaps stay visible
    const outline = (from, to) => {
      let path = "";
      for (let j = 0; j < SPARK.bins; j++) {
        const left = Math.max(from, j * step), right = Math.min(to, (j + 1) * step);
        if (right > left && group.bins[j]) path += `M${left} 20V${top(j)}H${right}V20Z`;
      }
      return path;
    };
    const button = element("button", { type: "button", class: "link", "aria-pressed": "false" }, group.name);
    button.addEventListener("click", () => this.choose(group.code));
    const kept = element("td", { class: "number" });
    const alone = group.size === 1 ? element("small", {}, " a single row") : null;
    const line = element(
      "tr", { "data-cluster": group.name },
      element("td", { class: "name" }, button, alone),
      element("td", { class: "number" }, count(group.size)),
      kept,
      element("td", { class: "number" }, fixed(group.mean, 2)),
      element("td", { class: "spread" }, svg),
    );
    line.addEventListener("click", (event) => { if (!button.contains(event.target)) this.choose(group.code); });
    return { ...group, line, button, cell: kept, paths, cut: svg.lastChild, outline };
  }

  update(threshold, chosen) {
    const at = threshold * SPARK.width;
    for (const row of this.rows) {
      row.kept = row.scores.length - countDropped(row.scores, threshold);
      row.button.textContent = this.nameOf(row.code);
      row.cell.replaceChildren(count(row.kept), element("small", {}, ` ${percent(row.size ? row.kept / row.size : 0)}`));
      row.paths[0].setAttribute("d", row.outline(0, at));
      row.paths[1].setAttribute("d", row.outline(at, SPARK.width));
      row.cut.setAttribute("x1", at);
      row.cut.setAttribute("x2", at);
      row.line.classList.toggle("active", row.code === chosen);
      row.button.setAttribute("aria-pressed", row.code === chosen);
    }
    if (this.sort.key === "kept") this.arrange();
  }

  sortBy(key) {
    this.sort = { key, down: this.sort.key === key ? !this.sort.down : key !== "name" };
    this.arrange();
  }

  arrange() {
    const { key, down } = this.sort;
    const given = new Map(this.rows.map((row, i) => [row, i]));
    const value = (row) => (key === "name" ? given.get(row) : Number.isNaN(row[key]) ? -1 : row[key]);
    const sorted = [...this.rows].sort((a, b) => (down ? -1 : 1) * (value(a) - value(b)) || given.get(a) - given.get(b));
    this.table.tBodies[0].replaceChildren(...sorted.map((row) => row.line));
    for (const cell of this.head) markSorted(cell, cell.dataset.key === key, down);
  }
}

function markSorted(cell, sorted, down) {
  if (sorted) cell.setAttribute("aria-sort", down ? "descending" : "ascending");
  else cell.removeAttribute("aria-sort");
}
