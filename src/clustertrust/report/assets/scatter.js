// A scatter plot that writes its points straight into the pixels of a canvas: 100,000 of them in a few milliseconds
// without a graphics card, so that it pans, zooms and follows the threshold smoothly on any machine.

const MARGIN = { left: 56, right: 10, top: 8, bottom: 40 }; // the frame in the style sheet has the same
const HOME = { x0: -0.03, x1: 1.03, y0: -0.03, y1: 1.03 }; // the window, in shares of the axes

// A disc of pixels: how far each lies from its middle, and how much of it the disc covers, 256 for all.
function disc(radius, width) {
  const reach = Math.ceil(radius);
  const dx = [], dy = [], cover = [];
  for (let j = -reach; j <= reach; j++) {
    for (let i = -reach; i <= reach; i++) {
      const part = Math.min(1, Math.max(0, radius + 0.5 - Math.hypot(i, j)));
      if (part > 0.02) { dx.push(i); dy.push(j); cover.push(Math.round(256 * part)); }
    }
  }
  const steps = Int32Array.from(dx, (i, s) => dy[s] * width + i);
  return { reach, dx, dy, steps, cover: Int32Array.from(cover) };
}

// Two opaque colours; red and blue are mixed in one go, as there is room between them.
function blend(under, over, cover) {
  const rest = 256 - cover;
  const outer = ((Math.imul(under & 0xff00ff, rest) + Math.imul(over & 0xff00ff, cover)) >>> 8) & 0xff00ff;
  const green = ((Math.imul(under & 0xff00, rest) + Math.imul(over & 0xff00, cover)) >>> 8) & 0xff00;
  return 0xff000000 | outer | green;
}

function stampDisc(pixels, width, height, px, py, stamp, color) {
  const { reach, steps, cover } = stamp;
  if (px >= reach && py >= reach && px < width - reach && py < height - reach) {
    const middle = py * width + px;
    for (let s = 0; s < cover.length; s++) {
      const at = middle + steps[s];
      pixels[at] = cover[s] === 256 ? color : blend(pixels[at], color, cover[s]);
    }
    return;
  }
  for (let s = 0; s < cover.length; s++) { // at the border of the plot
    const x = px + stamp.dx[s], y = py + stamp.dy[s];
    if (x >= 0 && y >= 0 && x < width && y < height) pixels[y * width + x] = blend(pixels[y * width + x], color, cover[s]);
  }
}

function inPolygon(x, y, path) {
  let inside = false;
  for (let i = 0, j = path.length - 1; i < path.length; j = i++) {
    const [xi, yi] = path[i], [xj, yj] = path[j];
    if (yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi) inside = !inside;
  }
  return inside;
}

class Scatter {
  // `plot`: x, y (shares of the axes), low, high, names of the axes, middles and names of the clusters where they are
  // to be shown. `shared`: what all plots show alike: order and colour of the rows, selection, the point looked at.
  // `on`: what to call for hover, pick, cluster, select and clear.
  constructor(root, plot, shared, on) {
    Object.assign(this, { root, plot, shared, on, window: { ...HOME }, lassoing: false, path: null, touches: new Map() });
    // In the order in which they are drawn, so that memory is read from front to back.
    this.x = Float32Array.from(shared.order, (row) => plot.x[row]);
    this.y = Float32Array.from(shared.order, (row) => plot.y[row]);
    this.under = element("canvas");
    this.over = element("canvas", { tabindex: "0", role: "application", "aria-label": plot.description });
    root.append(this.under, this.over);
    this.listen();
    this.remeasure();
    new ResizeObserver(() => { this.remeasure(); this.draw(); }).observe(root);
  }

  // The size is kept: to ask for it in every frame would lay out the page once more in each.
  remeasure() {
    this.size = [this.root.clientWidth, this.root.clientHeight];
  }

  measure() {
    const scale = this.shared.scale();
    const width = Math.max(160, this.size[0]), height = Math.max(160, this.size[1]);
    this.scale = scale;
    this.width = width - MARGIN.left - MARGIN.right;
    this.height = height - MARGIN.top - MARGIN.bottom;
    for (const canvas of [this.under, this.over]) {
      const [w, h] = [Math.round(width * scale), Math.round(height * scale)];
      if (canvas.width !== w || canvas.height !== h) { canvas.width = w; canvas.height = h; }
    }
  }

  // Position in CSS pixels of shares of the axes, from the corner of the canvas.
  toScreen(x, y) {
    const { x0, x1, y0, y1 } = this.window;
    return [MARGIN.left + ((x - x0) / (x1 - x0)) * this.width, MARGIN.top + ((y1 - y) / (y1 - y0)) * this.height];
  }

  toShare(left, top) {
    const { x0, x1, y0, y1 } = this.window;
    return [x0 + ((left - MARGIN.left) / this.width) * (x1 - x0), y1 - ((top - MARGIN.top) / this.height) * (y1 - y0)];
  }

  radius() {
    const n = this.plot.x.length;
    const zoom = (HOME.x1 - HOME.x0) / (this.window.x1 - this.window.x0);
    const alone = Math.min(4.5, Math.max(1.1, 6.3 - 1.05 * Math.log10(Math.max(n, 10))));
    return Math.min(6, alone * Math.max(1, zoom) ** 0.3) * Math.min(1, Math.max(0.75, this.width / 500));
  }

  draw() {
    this.measure();
    const { scale } = this;
    const width = Math.max(1, Math.round(this.width * scale)), height = Math.max(1, Math.round(this.height * scale));
    const context = this.under.getContext("2d");
    if (!this.image || this.image.width !== width || this.image.height !== height) {
      this.image = context.createImageData(width, height);
      this.pixels = new Uint32Array(this.image.data.buffer);
    }
    this.pixels.fill(this.shared.theme.card);
    this.fillPixels(width, height);
    context.clearRect(0, 0, this.under.width, this.under.height);
    context.putImageData(this.image, Math.round(MARGIN.left * scale), Math.round(MARGIN.top * scale));
    this.drawOver();
  }

  fillPixels(width, height) {
    const { x, y, pixels, shared: { order, indices, selection, palette, theme: { card } } } = this;
    const { x0, x1, y0, y1 } = this.window;
    const radius = this.radius() * this.scale;
    const stamp = disc(radius, width), rim = this.plot.rims && x.length <= 1500 ? disc(radius + 0.8 * this.scale, width) : null;
    const sx = width / (x1 - x0), sy = height / (y1 - y0), reach = stamp.reach + 1;
    // Points outside the selection first, then the others, each from the surest to the least sure: those lie on top.
    for (const pass of selection ? [0, 1] : [1]) {
      for (let at = 0; at < order.length; at++) {
        if (selection && selection[order[at]] !== pass) continue;
        const px = Math.floor((x[at] - x0) * sx), py = Math.floor((y1 - y[at]) * sy);
        if (!(px >= -reach && py >= -reach && px < width + reach && py < height + reach)) continue; // NaN fails too
        if (rim) stampDisc(pixels, width, height, px, py, rim, card);
        stampDisc(pixels, width, height, px, py, stamp, palette[pass ? indices[at] : 255]);
      }
    }
  }

  drawOver() {
    const context = this.over.getContext("2d");
    const style = getComputedStyle(document.documentElement);
    const color = (name) => style.getPropertyValue(name).trim();
    this.over.width = this.over.width; // clears it; clearRect would, on paper, clear what lies below as well
    context.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    this.drawAxes(context, color);
    context.save();
    context.beginPath();
    context.rect(MARGIN.left, MARGIN.top, this.width, this.height);
    context.clip();
    if (this.plot.middles) this.drawNames(context, color);
    this.drawMark(context, this.shared.hovered, 1.5, color("--ink"));
    this.drawMark(context, this.shared.point, 2.5, color("--ink"));
    if (this.path) {
      context.beginPath();
      this.path.forEach(([left, top], i) => (i ? context.lineTo(left, top) : context.moveTo(left, top)));
      context.closePath();
      context.fillStyle = color("--veil");
      context.fill();
      context.strokeStyle = color("--ink");
      context.setLineDash([5, 4]);
      context.lineWidth = 1.5;
      context.stroke();
    }
    context.restore();
  }

  drawAxes(context, color) {
    const { low, high, names } = this.plot, { window: view } = this;
    const bottom = MARGIN.top + this.height, right = MARGIN.left + this.width;
    context.font = "11px system-ui, sans-serif";
    const span = [0, 1].map((axis) => high[axis] - low[axis] || 1);
    const value = (share, axis) => low[axis] + (high[axis] > low[axis] ? share : share - 0.5) * span[axis];
    const share = (number, axis) => (number - value(0, axis)) / span[axis];
    context.fillStyle = color("--muted");
    context.textAlign = "center";
    context.textBaseline = "top";
    let free = 0;
    for (const tick of ticks(value(view.x0, 0), value(view.x1, 0), Math.max(4, this.width / 90))) {
      const [left] = this.toScreen(share(tick.value, 0), 0);
      const half = context.measureText(tick.text).width / 2;
      if (left < MARGIN.left || left > right || left - half < free) continue;
      free = left + half + 6;
      context.fillRect(Math.round(left), bottom, 1, 4);
      context.fillText(tick.text, left, bottom + 6);
    }
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (const tick of ticks(value(view.y0, 1), value(view.y1, 1), Math.max(4, this.height / 55))) {
      const [, top] = this.toScreen(0, share(tick.value, 1));
      if (top < MARGIN.top || top > bottom) continue;
      context.fillRect(MARGIN.left - 4, Math.round(top), 4, 1);
      context.fillText(tick.text, MARGIN.left - 7, top);
    }
    context.textAlign = "center";
    context.textBaseline = "bottom";
    context.fillText(fitted(context, names[0], this.width), MARGIN.left + this.width / 2, bottom + MARGIN.bottom - 2);
    context.translate(12, MARGIN.top + this.height / 2);
    context.rotate(-Math.PI / 2);
    context.fillText(fitted(context, names[1], this.height), 0, 0);
    context.setTransform(this.scale, 0, 0, this.scale, 0, 0);
  }

  // Names of clusters at their middles, the largest first; those that would cover another are left out.
  drawNames(context, color) {
    const { middles, clusters, sizes } = this.plot;
    const bySize = clusters.map((_, code) => code).sort((a, b) => sizes[b] - sizes[a]);
    this.boxes = [];
    context.font = "600 12px system-ui, sans-serif";
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (const code of bySize) {
      const [left, top] = this.toScreen(middles[2 * code], middles[2 * code + 1]);
      if (!(left > MARGIN.left && left < MARGIN.left + this.width && top > MARGIN.top)) continue;
      const text = shorten(this.plot.nameOf(code), 18);
      const half = context.measureText(text).width / 2 + 7;
      const box = { code, x0: left - half, x1: left + half, y0: top - 10, y1: top + 10 };
      if (this.boxes.some((b) => b.x0 < box.x1 && box.x0 < b.x1 && b.y0 < box.y1 && box.y0 < b.y1)) continue;
      this.boxes.push(box);
      const chosen = this.shared.cluster === code;
      context.globalAlpha = 0.88;
      context.fillStyle = color(chosen ? "--ink" : "--card");
      context.beginPath();
      context.roundRect(box.x0, box.y0, 2 * half, 20, 10);
      context.fill();
      context.globalAlpha = 1;
      context.strokeStyle = color("--line");
      context.stroke();
      context.fillStyle = color(chosen ? "--card" : "--ink");
      context.fillText(text, left, top + 0.5);
    }
  }

  drawMark(context, row, width, color) {
    if (row < 0 || Number.isNaN(this.plot.x[row])) return;
    context.beginPath();
    context.arc(...this.toScreen(this.plot.x[row], this.plot.y[row]), this.radius() + 3.5, 0, 2 * Math.PI);
    context.lineWidth = width;
    context.strokeStyle = color;
    context.stroke();
  }

  nearest(left, top, within) {
    const { x, y, shared: { order } } = this;
    const [cx, cy] = this.toShare(left, top);
    const sx = this.width / (this.window.x1 - this.window.x0), sy = this.height / (this.window.y1 - this.window.y0);
    let best = -1, least = within * within;
    for (let at = 0; at < order.length; at++) { // the last of equals wins: it lies on top
      const dx = (x[at] - cx) * sx, dy = (y[at] - cy) * sy, distance = dx * dx + dy * dy;
      if (distance <= least) { best = at; least = distance; }
    }
    return best < 0 ? -1 : order[best];
  }

  // `corners` are shares of the axes.
  rowsInside(corners) {
    const xs = corners.map((corner) => corner[0]), ys = corners.map((corner) => corner[1]);
    const [x0, x1, y0, y1] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    return this.rowsWhere((x, y) => x >= x0 && x <= x1 && y >= y0 && y <= y1 && inPolygon(x, y, corners));
  }

  rowsInView({ x0, x1, y0, y1 } = this.window) {
    return this.rowsWhere((x, y) => x >= x0 && x <= x1 && y >= y0 && y <= y1);
  }

  rowsWhere(test) {
    const mask = new Uint8Array(this.plot.x.length);
    for (let row = 0; row < mask.length; row++) mask[row] = test(this.plot.x[row], this.plot.y[row]) ? 1 : 0;
    return mask;
  }

  zoom(factor, left = MARGIN.left + this.width / 2, top = MARGIN.top + this.height / 2) {
    const [cx, cy] = this.toShare(left, top);
    const view = this.window;
    const size = (view.x1 - view.x0) * factor;
    if (size > 4 || size < 1e-5) return;
    this.window = {
      x0: cx + (view.x0 - cx) * factor, x1: cx + (view.x1 - cx) * factor,
      y0: cy + (view.y0 - cy) * factor, y1: cy + (view.y1 - cy) * factor,
    };
    this.later();
  }

  move(dx, dy) {
    const view = this.window;
    const x = (dx / this.width) * (view.x1 - view.x0), y = (dy / this.height) * (view.y1 - view.y0);
    this.window = { x0: view.x0 - x, x1: view.x1 - x, y0: view.y0 + y, y1: view.y1 + y };
    this.later();
  }

  reset() {
    this.window = { ...HOME };
    this.later();
  }

  // One drawing a frame, however many events ask for it.
  later() {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => { this.asked = false; this.draw(); });
  }
}

// A text in the largest letters in which it fits into the room there is, else cut.
function fitted(context, text, room) {
  for (const size of [11, 10, 9, 8]) {
    context.font = `${size}px system-ui, sans-serif`;
    if (context.measureText(text).width <= room) return text;
  }
  return shorten(text, (text.length * room) / context.measureText(text).width);
}

const shorten = (text, most) => (text.length <= most ? text : `${text.slice(0, Math.max(1, Math.floor(most) - 1))}…`);

// Values as shares of an axis from a round number below the smallest to one above the largest.
function shares(values) {
  let least = Infinity, most = -Infinity;
  for (const value of values) {
    if (value < least) least = value;
    if (value > most) most = value;
  }
  if (!Number.isFinite(least)) [least, most] = [0, 1];
  const step = most - least > 1e-9 ? Math.min(0.1, 10 ** Math.floor(Math.log10(most - least))) : 0.1;
  const high = Math.ceil(most / step - 1e-6) * step;
  const low = Math.min(high - step, Math.floor(least / step + 1e-6) * step);
  return { low, high, shares: Float32Array.from(values, (value) => (value - low) / (high - low)) };
}
