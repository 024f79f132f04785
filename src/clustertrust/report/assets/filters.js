// What is filtered: one state that every part of the page follows. A point is selected if all filters hold for it.

class Filters {
  // `changed` is called after each change.
  constructor(m, changed) {
    Object.assign(this, { m, changed, all: new Map(), mask: null });
  }

  get(key) {
    return this.all.get(key) ?? null;
  }

  // A filter: `words` for it, and `holds` for a row; null takes it away. Others stay.
  set(key, filter) {
    if (filter === null) this.all.delete(key);
    else this.all.set(key, filter);
    this.refresh();
    this.changed();
  }

  clear() {
    if (!this.all.size) return;
    this.all.clear();
    this.refresh();
    this.changed();
  }

  // Reasons follow the threshold, so that the same filters may hold for other rows.
  refresh() {
    this.mask = this.all.size ? this.without(null) : null;
  }

  // Which rows the filters but one hold for: a column shows what could be chosen in it. null: all rows.
  without(key) {
    const tests = [...this.all].filter(([name]) => name !== key).map(([, { holds }]) => holds);
    if (!tests.length) return null;
    const mask = new Uint8Array(this.m);
    for (let row = 0; row < this.m; row++) mask[row] = tests.every((holds) => holds(row)) ? 1 : 0;
    return mask;
  }

  // The same words whatever was chosen first: the cluster, the shape, then columns.
  words() {
    const place = (key) => ["cluster", "shape"].indexOf(key) + 1 || 3;
    return [...this.all].sort(([a], [b]) => place(a) - place(b)).map(([, { words }]) => words()).join(", ");
  }
}

// The line on what is filtered: how many points, of which clusters, and what clears it.
function showSelection(line, data, filters, threshold) {
  const { mask, all } = filters;
  const focused = line.contains(document.activeElement); // the focus stays near when its button goes
  line.hidden = !mask;
  line.replaceChildren();
  if (!mask) {
    if (focused) $("slider").focus();
    return;
  }
  const sizes = new Map();
  let total = 0, kept = 0;
  mask.forEach((inside, row) => {
    if (!inside) return;
    total++;
    kept += isKept(data.points.score[row], threshold);
    sizes.set(data.points.label[row], (sizes.get(data.points.label[row]) ?? 0) + 1);
  });
  const what = `${plural(total, data.drawn ? "drawn point" : "point")} ${filters.words()}`;
  const clusters = filters.get("cluster") === null && total ? `; ${nameClusters(data, sizes)}` : "";
  const parts = all.size < 2 ? [] : [...all].map(([key, { words }]) => element(
    "button", { type: "button", class: "chip", "aria-label": `Clear: ${words()}`, onclick: () => filters.set(key, null) }, `${shorten(words(), 40)} ×`));
  line.append(
    element("span", {}, element("b", {}, what), `: ${count(kept)} kept, ${count(total - kept)} not${clusters}`),
    element("span", { class: "tools" },
      ...parts,
      element("button", { type: "button", onclick: () => lead($("points-title")) }, "See them in the table"),
      element("button", { type: "button", id: "clear", onclick: () => filters.clear() }, parts.length ? "Clear all" : "Clear")),
  );
  if (focused) $("clear").focus();
}

function nameClusters(data, sizes) {
  const largest = [...sizes].sort((a, b) => b[1] - a[1]);
  if (largest.length === 1) return `all in cluster ${clusterName(data, largest[0][0])}`;
  const names = largest.slice(0, 4).map(([code, size]) => `${clusterName(data, code)} (${count(size)})`);
  if (largest.length > 4) names.push(`${largest.length - 4} more`);
  return `clusters ${names.join(", ")}`;
}
