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
