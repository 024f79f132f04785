// What pointers, the wheel and keys do on a scatter: move, zoom, look at a point, choose a cluster, draw a lasso.

const KEYS = {
  ArrowLeft: (plot) => plot.move(40, 0),
  ArrowRight: (plot) => plot.move(-40, 0),
  ArrowUp: (plot) => plot.move(0, 40),
  ArrowDown: (plot) => plot.move(0, -40),
  "+": (plot) => plot.zoom(0.8),
  "=": (plot) => plot.zoom(0.8),
  "-": (plot) => plot.zoom(1.25),
  0: (plot) => plot.reset(),
  Enter: (plot) => plot.on.select(plot, plot.inView()),
};

Scatter.prototype.listen = function () {
  const canvas = this.over;
  const where = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    this.touches.set(event.pointerId, where(event));
    this.moved = this.touches.size > 1;
    this.path = this.touches.size === 1 && (this.lassoing || event.shiftKey) ? [where(event)] : null;
    this.on.hover(-1);
  });
  canvas.addEventListener("pointermove", (event) => {
    const now = where(event);
    if (!this.touches.has(event.pointerId)) return this.hover(now, event);
    const before = this.touches.get(event.pointerId);
    if (!this.moved && Math.hypot(now[0] - before[0], now[1] - before[1]) < 4) return undefined;
    this.moved = true;
    if (this.touches.size === 2) this.pinch(event.pointerId, now);
    else if (this.path) { this.path.push(now); this.drawOver(); }
    else this.move(now[0] - before[0], now[1] - before[1]);
    this.touches.set(event.pointerId, now);
    return undefined;
  });
  canvas.addEventListener("pointerup", (event) => {
    if (!this.touches.delete(event.pointerId)) return;
    const { path, moved } = this;
    this.path = null;
    if (path && moved) this.on.select(this, { kind: "lasso", values: path.flatMap(([left, top]) => this.toShare(left, top)) });
    else if (!moved) this.click(where(event), event.pointerType === "touch" ? 22 : 12);
    this.drawOver();
  });
  canvas.addEventListener("pointercancel", (event) => {
    this.touches.delete(event.pointerId);
    this.path = null;
    this.drawOver();
  });
  canvas.addEventListener("pointerleave", () => this.on.hover(-1));
  canvas.addEventListener("wheel", (event) => {
    // The page scrolls past a scatter that nobody has asked for anything.
    if (!event.ctrlKey && !event.metaKey && document.activeElement !== canvas) return;
    event.preventDefault();
    this.zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) * 0.004), ...where(event));
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const act = KEYS[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act(this);
  });
};

// What is selected by a shape, by its kind; shapes are numbers, which fit into an address.
const SHAPES = {
  lasso: {
    words: "in the lasso",
    rows: (plot, values) => plot.rowsInside(Array.from({ length: values.length / 2 }, (_, j) => values.slice(2 * j, 2 * j + 2))),
  },
  view: { words: "in view", rows: (plot, [x0, x1, y0, y1]) => plot.rowsInView({ x0, x1, y0, y1 }) },
};

Scatter.prototype.inView = function () {
  const { x0, x1, y0, y1 } = this.window;
  return { kind: "view", values: [x0, x1, y0, y1] };
};

Scatter.prototype.labelAt = function (left, top) {
  const box = (this.boxes ?? []).find((b) => left >= b.x0 && left <= b.x1 && top >= b.y0 && top <= b.y1);
  return box ? box.code : -1;
};

Scatter.prototype.hover = function ([left, top], event) {
  const label = this.labelAt(left, top);
  const row = label >= 0 || this.lassoing ? -1 : this.nearest(left, top, 12);
  this.over.style.cursor = this.lassoing ? "crosshair" : label >= 0 || row >= 0 ? "pointer" : "grab";
  this.on.hover(row, event.clientX, event.clientY);
};

Scatter.prototype.click = function ([left, top], within) {
  const label = this.labelAt(left, top);
  if (label >= 0) return this.on.cluster(label);
  const row = this.nearest(left, top, within);
  return row >= 0 ? this.on.pick(row) : this.on.clear();
};

Scatter.prototype.pinch = function (moving, now) {
  const [other] = [...this.touches].filter(([id]) => id !== moving).map(([, at]) => at);
  const before = this.touches.get(moving);
  const apart = (point) => Math.max(10, Math.hypot(point[0] - other[0], point[1] - other[1]));
  this.zoom(apart(before) / apart(now), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
  this.move((now[0] - before[0]) / 2, (now[1] - before[1]) / 2);
};
