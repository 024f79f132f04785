// Where the point in question lies: its cluster and its rival in colour, all others grey.

class ReviewMap {
  // `plot`: what the scatter of the page draws. `shared`: its order of the points, its theme and its scale.
  constructor(root, plot, shared) {
    const none = () => {};
    this.from = shared;
    this.sizes = plot.sizes;
    this.shared = {
      order: shared.order, indices: new Uint8Array(shared.order.length), selection: null, cluster: -2, point: -1, hovered: -1,
      palette: shared.palette, theme: shared.theme, scale: shared.scale,
    };
    this.scatter = new Scatter(root, { ...plot, description: "Where the point lies among all points." }, this.shared,
      { hover: none, pick: none, cluster: none, select: none, clear: none });
  }

  update(row, label, own, rival) {
    const { from, shared } = this;
    shared.theme = from.theme;
    shared.palette = categoryPalette(from.theme);
    shared.selection = Uint8Array.from(label, (code) => (code === own || code === rival ? 1 : 0));
    shared.order.forEach((other, at) => { shared.indices[at] = label[other] === own ? 1 : 2; });
    shared.point = row;
    const { plot } = this.scatter; // names of the two come before those of larger clusters
    this.scatter.plot = { ...plot, sizes: this.sizes.map((size, code) => (code === own || code === rival ? Number.MAX_SAFE_INTEGER : size)) };
    this.scatter.remeasure();
    this.scatter.draw();
  }
}
