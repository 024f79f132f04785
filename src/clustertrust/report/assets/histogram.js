// All scores, split at the threshold, which can be dragged.

class Histogram {
  constructor(root, scores, drag) {
    this.root = root;
    this.bins = new Array(scores.length > 2000 ? 50 : 25).fill(0);
    this.counted = this.countBins(scores, () => true);
    root.addEventListener("pointerdown", (event) => {
      root.setPointerCapture(event.pointerId);
      this.dragging = true;
      drag(this.scoreAt(event));
    });
    root.addEventListener("pointermove", (event) => { if (this.dragging) drag(this.scoreAt(event)); });
    for (const name of ["pointerup", "pointercancel"]) root.addEventListener(name, () => { this.dragging = false; });
    this.remeasure();
    new ResizeObserver(() => { this.remeasure(); this.redraw(); }).observe(root);
  }

  remeasure() {
    this.size = [this.root.clientWidth, this.root.clientHeight];
  }

  countBins(scores, wanted) {
    const bins = this.bins.map(() => 0);
    for (let i = 0; i < scores.length; i++) {
      if (!Number.isNaN(scores[i]) && wanted(i)) bins[Math.min(bins.length - 1, Math.floor(scores[i] * bins.length))]++;
    }
    return bins;
  }

  scoreAt(event) {
    const box = this.root.getBoundingClientRect();
    const score = (event.clientX - box.left - MARGIN.left) / (box.width - MARGIN.left - MARGIN.right);
    return Math.round(100 * Math.min(1, Math.max(0, score))) / 100;
  }

  // `chosen`: scores of the selected points among all, or null.
  update(threshold, chosen) {
    this.threshold = threshold;
    this.chosen = chosen;
    this.redraw();
  }

  redraw() {
    if (this.threshold === undefined) return;
    const width = Math.max(200, this.size[0]), height = Math.max(140, this.size[1]);
    const inner = width - MARGIN.left - MARGIN.right, base = height - MARGIN.bottom;
    const most = Math.max(1, ...this.counted);
    const svg = shape("svg", { width, height, role: "img", "aria-label": this.describe() });
    const x = (score) => MARGIN.left + score * inner;
    const y = (number) => base - (number / most) * (base - MARGIN.top - 14);
    for (const tick of ticks(0, most, 5).filter(({ value }) => Number.isInteger(value))) {
      svg.append(
        shape("line", { class: "grid", x1: MARGIN.left, x2: width - MARGIN.right, y1: y(tick.value), y2: y(tick.value) }),
        shape("text", { x: MARGIN.left - 7, y: y(tick.value) + 4, "text-anchor": "end" }, count(Math.abs(tick.value))),
      );
    }
    const shown = this.chosen ?? this.counted;
    if (this.chosen) this.bars(svg, this.counted, x, y, base, 0, 1, "all");
    this.bars(svg, shown, x, y, base, 0, this.threshold, "dropped");
    this.bars(svg, shown, x, y, base, this.threshold, 1, "kept");
    for (const tick of ticks(0, 1, 5)) {
      svg.append(shape("text", { x: x(tick.value), y: base + 17, "text-anchor": "middle" }, tick.text));
    }
    const cut = x(this.threshold);
    svg.append(
      shape("text", { x: x(0.5), y: height - 4, "text-anchor": "middle" }, "score"),
      shape("text", { x: MARGIN.left - 7, y: MARGIN.top + 4, "text-anchor": "end" }, "points"),
      shape("line", { class: "cut", x1: cut, x2: cut, y1: MARGIN.top + 8, y2: base }),
      shape("circle", { class: "knob", cx: cut, cy: MARGIN.top + 6, r: 6 }),
    );
    this.root.replaceChildren(svg);
  }

  // Bars between two scores; one that a border cuts through is drawn up to it.
  bars(svg, bins, x, y, base, from, to, name) {
    bins.forEach((number, j) => {
      const left = Math.max(from, j / bins.length), right = Math.min(to, (j + 1) / bins.length);
      if (number === 0 || right <= left) return;
      const gap = right === (j + 1) / bins.length ? 1 : 0;
      const size = { x: x(left), y: y(number), width: Math.max(0.5, x(right) - x(left) - gap), height: base - y(number) };
      svg.append(shape("rect", { class: name, ...size }));
    });
  }

  describe() {
    return `Histogram of the scores, cut at ${digits(this.threshold)}; the table of clusters has the numbers.`;
  }
}
