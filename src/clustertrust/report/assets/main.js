// Puts the parts together: one state (threshold, selection, the point looked at) that every part is drawn from.

class Report {
  constructor(data) {
    this.data = data;
    this.scores = data.points.score;
    this.groups = groupScores(data);
    this.scored = this.groups.reduce((sum, group) => sum + group.scores.length, 0);
    this.threshold = data.threshold;
    this.range = scoreRange(this.scores);
    this.filters = new Filters(data.m, () => this.filtered());
    this.names = new Names(data, () => this.renamed());
    this.colour = "score";
    this.asker = null; // what had the focus before the panel on a point opened
    this.printing = matchMedia("print");
    // From the surest to the least sure, points without a score first.
    const before = (a, b) => (Number.isNaN(a) ? (Number.isNaN(b) ? 0 : -1) : Number.isNaN(b) ? 1 : b - a);
    const order = Uint32Array.from({ length: data.m }, (_, row) => row)
      .sort((a, b) => before(this.scores[a], this.scores[b]) || a - b);
    this.inOrder = Float64Array.from(order, (row) => this.scores[row]);
    this.shared = {
      order, indices: new Uint8Array(data.m), selection: null, cluster: -2, point: -1, hovered: -1, theme: readTheme(),
      scale: () => (this.printing.matches ? 3 : Math.min(3, window.devicePixelRatio || 1)),
    };
    this.plots = this.makePlots();
    this.rowOf = data.drawn ? new Map(Array.from(data.drawn, (i, row) => [i, row])) : null;
    const place = (i) => (this.rowOf ? this.rowOf.get(i) ?? -1 : i);
    const look = (row) => { if (row >= 0) this.look(row, document.activeElement); };
    const choose = (code) => this.chooseCluster(code);
    this.profile = new Profile($("profile-card"), data, { choose, look, form: (code) => this.names.form(code), rowOf: place });
    this.clusterTable = new ClusterTable($("clusters"), this.groups, choose, (code) => clusterName(data, code));
    this.suspects = new Suspects(data, place, look, (rows) => saveFile(toCsv(data, rows, this.threshold), "suspects.csv"));
    this.cards = new ColumnCards($("columns"), data, this.filters);
    this.histogram = new Histogram($("histogram"), data.all.score, (threshold) => this.setThreshold(threshold));
    this.pointTable = new PointTable($("points"), data, (row, button) => this.look(row, button));
    this.review = new Review(data, this, () => this.later());
    this.opening = new Opening(data, {
      columns: () => lead($("columns-title")), clusters: () => lead($("clusters-title")), suspects: () => lead($("suspects-title")), review: (rows) => this.review.begin(rows),
    });
    this.listen();
    this.describe();
    this.setThreshold(this.threshold);
    this.showFirst(false);
    this.restore();
    this.update();
  }

  // What the address says; what it says wrongly is left out.
  restore() {
    const { data } = this;
    const { threshold, cluster, shape, point, colour, review, bars } = readAddress();
    if (threshold !== undefined && Number.isFinite(Number(threshold))) this.setThreshold(Number(threshold));
    if (colour !== undefined && this.colours.includes(colour)) this.setColour(colour);
    const code = data.clusters.indexOf(cluster);
    if (code >= 0 && code !== this.cluster) this.chooseCluster(code);
    if (shape && this.plots[shape.plot]) this.selectShape(this.plots[shape.plot], shape);
    this.cards.follow(this.threshold);
    for (const part of (bars ?? "").split(";")) {
      const [key, numbers] = part.split("=");
      if (numbers) this.cards.restore(key, numbers.split(",").map(Number));
    }
    const row = point === undefined ? -1 : data.drawn ? data.drawn.indexOf(Number(point)) : Number(point);
    if (row >= 0 && row < data.m && Number.isInteger(row)) this.look(row, null);
    if (review !== undefined && !this.review.open) this.review.enter();
  }

  // The address says what the page shows.
  remember() {
    const { data, shared, filters, cluster } = this;
    const shape = filters.get("shape")?.shape;
    const bars = [...filters.all].filter(([, { chosen }]) => chosen).map(([key, { chosen }]) => `${key}=${[...chosen].join(",")}`);
    writeAddress({
      threshold: this.threshold === data.threshold ? null : this.threshold,
      cluster: cluster === null || cluster < 0 ? null : data.clusters[cluster],
      shape: shape && { kind: shape.kind, plot: this.plots.indexOf(shape.plot), values: shape.values },
      point: shared.point < 0 ? null : data.position(shared.point),
      colour: this.colour === "score" ? null : this.colour,
      review: this.review.open ? "1" : null,
      bars: bars.join(";"),
    });
  }

  makePlots() {
    const { data, data: { view, points }, shared } = this;
    const on = {
      hover: (row, left, top) => this.hover(row, left, top),
      pick: (row) => this.look(row, null),
      cluster: (code) => this.chooseCluster(code),
      select: (plot, shape) => this.selectShape(plot, shape),
      clear: () => this.letGo(),
    };
    const keys = "Arrows move, plus and minus zoom, Enter selects all in view; the table below lists the points.";
    const scatter = {
      ...view, rims: true, clusters: data.clusters, nameOf: (code) => clusterName(data, code), sizes: data.clusters.map((_, code) => this.groups[code].size),
      description: `Scatter of the points by ${view.names[0]} and ${view.names[1]}. ${keys}`,
    };
    const [across, up] = [points.geometry, points.stability].map((values) => (values ? shares(values) : null));
    const plane = {
      x: across?.shares, y: up?.shares, low: [across?.low, up?.low], high: [across?.high, up?.high], names: ["geometry", "stability"],
      description: `Scatter of the points by geometry and stability. ${keys}`,
    };
    const plots = [new Scatter($("scatter"), scatter, shared, on)];
    if (!view.is_plane && points.stability && points.geometry) {
      $("plane").style.setProperty("--tall", `${Math.round(130 + 250 * (up.high - up.low))}px`); // no taller than what it shows
      plots.push(new Scatter($("plane"), plane, shared, on));
    } else {
      $("plane-card").hidden = true;
      document.querySelector(".right").append($("histogram").closest(".card")); // into the room that is left
    }
    return plots;
  }

  // What changes the state

  setThreshold(value) {
    this.threshold = Math.min(1, Math.max(0, value));
    $("slider").value = this.threshold;
    if (document.activeElement !== $("number")) $("number").value = this.threshold;
    this.later();
  }

  chooseCluster(code) {
    const { data, filters } = this;
    if (this.cluster === code) return filters.set("cluster", null);
    const words = () => (code < 0 ? "in no cluster" : `in cluster ${clusterName(data, code)}`);
    const there = data.points.label.includes(code);
    return filters.set("cluster", there ? { code, words, holds: (row) => data.points.label[row] === code } : null);
  }

  // The cluster that is chosen; null: none is.
  get cluster() {
    return this.filters.get("cluster")?.code ?? null;
  }

  selectShape(plot, shape) {
    const { words, rows } = SHAPES[shape.kind];
    const mask = rows(plot, shape.values);
    const found = { shape: { ...shape, plot }, words: () => words, holds: (row) => mask[row] === 1 };
    this.filters.set("shape", mask.includes(1) ? found : null);
  }

  setColour(colour) {
    this.colour = colour;
    $("colour").value = colour;
    this.later();
  }

  // The filters changed.
  filtered() {
    this.shared.cluster = this.cluster ?? -2;
    this.pointTable.page = 0;
    this.showFirst(this.filters.mask !== null); // of points that were chosen by hand, none is hidden
    this.later();
  }

  renamed() {
    this.suspects.update();
    this.review.rename();
    this.coloured = null;
    this.later();
  }

  // All points, or those that are dropped, if any are.
  showFirst(all) {
    const dropped = this.groups.some((group) => countDropped(group.scores, this.threshold) > 0);
    this.pointTable.show = all || !dropped ? "all" : "dropped";
    $("show").value = this.pointTable.show;
  }

  look(row, button) {
    this.shared.point = row;
    this.asker = button;
    const { name, parts } = describePoint(this.data, row, this.threshold);
    const kind = element("span", { class: "muted" }, `${this.data.id_name} `);
    const title = element("h2", { id: "point-title", tabindex: "-1" }, kind, name);
    const close = element("button", { type: "button", "aria-label": "Close", onclick: () => this.closePoint() }, "×");
    const panel = $("point");
    panel.replaceChildren(element("div", { class: "head" }, title, close), ...parts);
    panel.hidden = false;
    panel.scrollTop = 0;
    if (button) title.focus();
    this.plots.forEach((plot) => plot.drawOver());
    this.remember();
  }

  closePoint() {
    this.shared.point = -1;
    $("point").hidden = true;
    this.plots.forEach((plot) => plot.drawOver());
    this.remember();
    if (this.asker?.isConnected) this.asker.focus();
  }

  letGo() {
    if (this.review.open) { this.review.letGo(); return; }
    if (this.shared.point >= 0) this.closePoint();
    else this.filters.clear();
  }

  hover(row, left, top) {
    const tip = $("tip");
    if (row !== this.shared.hovered) {
      this.shared.hovered = row;
      this.plots.forEach((plot) => plot.drawOver());
    }
    tip.hidden = row < 0;
    if (row < 0) return;
    const { data } = this;
    const words = `cluster ${clusterName(data, data.points.label[row])}, score ${fixed(this.scores[row])}`;
    const more = ["score", "cluster"].includes(this.colour) ? [] : [element("br"), `${this.colourName()}: ${this.coloured.tell(row)}`];
    tip.replaceChildren(element("b", {}, data.id(data.position(row))), element("br"), words, ...more);
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.min(left + 14, innerWidth - box.width - 8)}px`;
    tip.style.top = `${top + 18 + box.height > innerHeight ? top - box.height - 10 : top + 18}px`;
  }

  // What shows it

  // One update a frame, however many events ask for it.
  later() {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => { this.asked = false; this.update(); });
  }

  update() {
    const { threshold, shared, filters } = this;
    this.cards.follow(threshold);
    const { mask } = filters;
    shared.selection = mask;
    this.paint();
    this.opening.update(threshold);
    this.showCounts();
    showSelection($("chosen"), this.data, filters, threshold);
    this.showLegend();
    this.clusterTable.update(threshold, this.cluster);
    this.opening.sort(this.clusterTable.rows, (code) => this.chooseCluster(code), (code) => clusterName(this.data, code));
    this.histogram.update(threshold, mask && this.histogram.countBins(this.scores, (row) => mask[row]));
    this.pointTable.update(threshold, mask, filters.words());
    this.cards.update();
    if (shared.point >= 0) {
      const { parts } = describePoint(this.data, shared.point, threshold);
      $("point").replaceChildren($("point").firstChild, ...parts);
    }
    this.profile.update(this.cluster);
    this.plots.forEach((plot) => plot.draw());
    this.remember();
  }

  // The colour of each point.
  paint() {
    const { shared, data, colour, threshold } = this;
    if (colour === "score") {
      this.coloured = null;
      shared.palette = shared.theme.palette;
      colorIndices(this.inOrder, threshold, this.range, shared.indices);
      return;
    }
    if (!this.coloured || this.painted !== colour || colour === "reason") this.coloured = colouring(data, colour, threshold);
    this.painted = colour;
    shared.palette = this.coloured.palette(shared.theme);
    this.coloured.paint(shared.order, shared.indices);
  }

  colourName() {
    return $("colour").selectedOptions[0].textContent;
  }

  showCounts() {
    const { groups, threshold, scored, data: { n } } = this;
    const dropped = groups.reduce((sum, group) => sum + countDropped(group.scores, threshold), 0);
    const shares = percents([(scored - dropped) / n, dropped / n]);
    for (const [j, [name, number]] of [["kept", scored - dropped], ["dropped", dropped]].entries()) {
      $(name).textContent = count(number);
      $(`${name}-share`).textContent = shares[j];
      $(`ratio-${name}`).style.width = `${(100 * number) / n}%`;
    }
    $("unscored-count").hidden = scored === n;
    $("unscored").textContent = count(n - scored);
    $("download").disabled = scored === dropped;
    const words = `${digits(threshold)}: ${count(scored - dropped)} points kept, ${count(dropped)} dropped`;
    $("slider").setAttribute("aria-valuetext", words);
    $("slider").style.setProperty("--at", `${100 * threshold}%`);
  }

  showLegend() {
    if (this.coloured) {
      const there = new Set();
      for (let row = 0; row < this.data.m; row++) there.add(this.coloured.of(row));
      $("legend").replaceChildren(element("span", {}, this.colourName()), ...this.coloured.legend(this.shared.theme, there));
      return;
    }
    const [low, high] = ["dropped", "kept"].map((name) => element("span", { class: name }));
    const [least, most] = this.range;
    low.style.width = `${100 * Math.min(1, Math.max(0, (this.threshold - least) / (most - least || 1)))}%`;
    const mark = (name, text) => element("span", { class: `key ${name}` }, text);
    $("legend").replaceChildren(
      element("span", {}, `score ${fixed(least, 2)}`),
      element("span", { class: "ramp", "aria-hidden": "true" }, low, high),
      element("span", {}, fixed(most, 2)),
      mark("dropped", "dropped"), mark("kept", "kept"), ...(this.scored < this.data.n ? [mark("unscored", "no score")] : []),
    );
  }

  restyle() {
    this.shared.theme = readTheme();
    [this.histogram, ...this.plots].forEach((part) => part.remeasure()); // paper has another size
    this.update();
  }

  // What is said once
  describe() {
    const { data, scored } = this;
    const k = this.groups.filter(({ code, size }) => code >= 0 && size > 0).length;
    const facts = [plural(data.n, "point"), ...clusteredBy(data), plural(k, "cluster")];
    if (scored) {
      const sorted = data.all.score.filter((score) => !Number.isNaN(score)).sort();
      facts.push(`median score ${fixed((sorted[(scored - 1) >> 1] + sorted[scored >> 1]) / 2, 2)}`);
    }
    if (scored && data.threshold_origin) facts.push(data.threshold_origin);
    $("facts").textContent = facts.join(" · ");
    if (scored === data.n) $("show-unscored").remove();
    this.colours = fillChoices($("colour"), colourChoices(data));
    $("notes").append(...data.notes.map((note) => element("p", { class: "hint" }, ...withOptions(note))));
    for (const [list, pairs] of [[$("settings"), data.settings], [$("versions"), data.versions]]) {
      for (const [name, value] of pairs) list.append(element("dt", {}, name), element("dd", {}, value));
    }
  }

  // Controls

  listen() {
    const { data, plots, pointTable } = this;
    const when = (id, event, act) => $(id).addEventListener(event, act);
    const number = $("number");
    when("slider", "input", () => this.setThreshold(Number($("slider").value)));
    when("number", "input", () => { if (number.value !== "") this.setThreshold(Number(number.value)); });
    when("number", "change", () => { number.value = this.threshold; });
    when("lasso", "click", () => this.toggleLasso());
    when("in-view", "click", () => this.selectShape(plots[0], plots[0].inView()));
    when("colour", "change", () => this.setColour($("colour").value));
    when("zoom-in", "click", () => plots[0].zoom(0.7));
    when("zoom-out", "click", () => plots[0].zoom(1 / 0.7));
    when("zoom-reset", "click", () => plots[0].reset());
    when("search", "input", () => pointTable.ask({ query: $("search").value }));
    when("show", "change", () => pointTable.ask({ show: $("show").value }));
    when("previous", "click", () => pointTable.turn(-1));
    when("next", "click", () => pointTable.turn(1));
    when("download", "click", () => saveFile(toCsv(data, this.keptPositions(), this.threshold), "kept.csv"));
    const listed = () => toCsv(data, [...pointTable.found].map(data.position), this.threshold);
    when("download-table", "click", () => saveFile(listed(), "points.csv"));
    document.addEventListener("keydown", (event) => { if (event.key === "Escape") this.letGo(); });
    window.addEventListener("hashchange", () => this.restore());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.restyle());
    this.printing.addEventListener("change", () => this.restyle());
    window.addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((part) => { part.open = true; }));
  }

  toggleLasso() {
    const lassoing = !this.plots[0].lassoing;
    for (const plot of this.plots) {
      plot.lassoing = lassoing;
      plot.over.style.touchAction = lassoing ? "none" : ""; // a finger then draws instead of scrolling
    }
    $("lasso").setAttribute("aria-pressed", lassoing);
  }

  keptPositions() {
    const positions = [];
    for (let i = 0; i < this.data.n; i++) if (isKept(this.data.all.score[i], this.threshold)) positions.push(i);
    return positions;
  }
}

// How many columns were clustered, where it is known: those to check count if they were.
function clusteredBy({ cards, roles }) {
  const n = (roles.clustered ?? 0) + cards.filter(({ role, used }) => role === "check" && used).length;
  return n ? [`${plural(n, "column")} clustered`] : [];
}

// Scroll to a heading, and take the focus with it.
function lead(heading) {
  heading.setAttribute("tabindex", "-1");
  heading.focus({ preventScroll: true });
  heading.scrollIntoView({ behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
}

readContents().then((data) => {
  new Report(data);
  document.body.classList.add("ready");
}).catch((error) => {
  $("alarm").hidden = false;
  $("alarm").textContent = `This report cannot be shown: ${error.message}. It needs a browser of 2023 or newer.`;
  throw error;
});
