// A card for each column: what was done with it, and its distribution, over all points and over those that are selected.
// A bar is a button that filters; bars of one column are alternatives, columns are combined.

const ROLES = { check: "to check", clustered: "clustered", names: "names the rows", ignored: "not clustered", other: "in your table", reason: "" };
const MOST_LISTED = 6; // categories without scrolling
const FEW_WORDS = 3; // bars that a filter names

class ColumnCards {
  constructor(root, data, filters) {
    Object.assign(this, { root, data, filters });
    const columns = data.cards.map((card, j) => ({ ...card, key: `bars:${j}` }));
    this.cards = [...(data.reasons ? [this.reasonCard()] : []), ...columns].map((card) => this.make(card));
    $("columns-card").hidden = !this.cards.length;
    root.replaceChildren(...this.cards.map(({ box }) => box));
    const all = Object.values(data.roles).reduce((sum, n) => sum + n, 0);
    const fewer = data.cards.length < all ? `; here are ${count(data.cards.length)}, those in which clusters differ most` : "";
    const roles = Object.entries(data.roles).map(([role, n]) => `${count(n)} ${ROLES[role]}`).join(", ");
    $("columns-said").textContent = roles ? `${roles}${fewer}. ` : "";
    $("columns-title").textContent = columns.length ? "Reasons and columns" : "Reasons";
  }

  // Why points are kept or not, as a column; its bars follow the threshold.
  reasonCard() {
    const { data } = this;
    return {
      key: "reason", name: "Why kept or dropped", role: "reason", missing: 0, reason: "", option: "", scale: "",
      bars: { kind: "categories", texts: data.reasons.names, ends: [], codes: new Uint8Array(data.m), counts: null },
    };
  }

  make(card) {
    const { bars } = card;
    const about = [
      card.missing ? `${count(card.missing)} missing` : "", card.scale, card.reason,
    ].filter((text) => text).map((text) => element("p", { class: "hint" }, capital(text)));
    if (card.option) about.push(element("p", { class: "hint" }, "To change it: ", element("code", {}, card.option)));
    const made = { ...card, rows: [], box: null };
    const parts = bars ? [this.drawBars(made)] : [element("p", { class: "muted" }, card.role === "names" ? "A name for each row." : "No bars for these values.")];
    const chip = ROLES[card.role] ? element("span", { class: `role ${card.role}` }, ROLES[card.role]) : null;
    made.box = element("section", { class: `column ${card.role}`, "data-column": card.name }, element("h3", {}, card.name, chip), ...parts, ...about);
    return made;
  }

  drawBars(card) {
    const { texts, kind, ends } = card.bars;
    card.rows = texts.map((text, j) => {
      const [all, some] = ["all", "some"].map((name) => element("span", { class: name }));
      const button = element("button", { type: "button", class: "bar-of", onclick: () => this.toggle(card, j) }, element("span", { class: "well", "aria-hidden": "true" }, all, some));
      if (kind === "categories") button.prepend(element("span", { class: "what" }, text));
      return { text, button, all, some };
    });
    const box = element("div", { class: `bars ${kind}${texts.length > MOST_LISTED ? " long" : ""}`, role: "group", "aria-label": card.name }, ...card.rows.map(({ button }) => button));
    if (kind === "categories") return box;
    return element("div", {}, box, element("div", { class: "scale" }, ...ends.map((text) => element("span", {}, text))));
  }

  toggle(card, j) {
    const chosen = new Set(this.filters.get(card.key)?.chosen);
    if (chosen.has(j)) chosen.delete(j);
    else chosen.add(j);
    this.choose(card, chosen);
  }

  choose(card, chosen) {
    const { codes, texts } = card.bars;
    const words = () => {
      const named = [...chosen].sort((a, b) => a - b).map((j) => texts[j]);
      const listed = named.length > FEW_WORDS ? `${named.slice(0, FEW_WORDS).join(" or ")} or ${named.length - FEW_WORDS} more` : named.join(" or ");
      return card.key === "reason" ? `that are ${listed}` : `with ${card.name} ${listed}`;
    };
    this.filters.set(card.key, chosen.size ? { chosen, words, holds: (row) => chosen.has(codes[row]) } : null);
  }

  // Filters of the address; what is not there is left out.
  restore(key, numbers) {
    const card = this.cards.find((one) => one.key === key && one.bars);
    const chosen = new Set(numbers.filter((j) => Number.isInteger(j) && j >= 0 && j < (card?.bars.texts.length ?? 0)));
    if (card && chosen.size) this.choose(card, chosen);
  }

  // Reasons at this threshold: before filters are applied.
  follow(threshold) {
    const card = this.cards.find(({ key }) => key === "reason");
    if (!card) return;
    const { data } = this;
    for (let row = 0; row < data.m; row++) card.bars.codes[row] = reasonOf(data, data.position(row), threshold);
    if (this.filters.get("reason")) this.filters.refresh();
  }

  update() {
    for (const card of this.cards) if (card.bars) this.updateBars(card);
  }

  updateBars(card) {
    const { bars: { codes, counts, texts, kind } } = card;
    const others = this.filters.without(card.key);
    const width = texts.length;
    const all = new Float64Array(width), some = new Float64Array(width);
    if (counts) for (let at = 0; at < counts.length; at++) { if (at % (width + 1) < width) all[at % (width + 1)] += counts[at]; }
    for (let row = 0; row < codes.length; row++) {
      if (codes[row] >= width) continue;
      if (!counts) all[codes[row]]++;
      if (others?.[row]) some[codes[row]]++;
    }
    // Shares, so that a small cluster can be compared with all points.
    const sum = (values) => Math.max(1, values.reduce((total, value) => total + value, 0));
    const [ofAll, ofSome] = [sum(all), sum(some)];
    const most = Math.max(...all.map((value) => value / ofAll), ...(others ? some.map((value) => value / ofSome) : []), 1e-9);
    const chosen = this.filters.get(card.key)?.chosen;
    const side = kind === "categories" ? "width" : "height";
    card.rows.forEach((bar, j) => {
      bar.all.style[side] = `${(100 * all[j]) / ofAll / most}%`;
      bar.some.style[side] = others ? `${(100 * some[j]) / ofSome / most}%` : "0";
      bar.button.setAttribute("aria-pressed", chosen?.has(j) ?? false);
      bar.button.disabled = !all[j];
      const words = `${bar.text}: ${count(all[j])}${others ? `, ${count(some[j])} of the selected` : ""}`;
      bar.button.setAttribute("aria-label", words);
      bar.button.title = words;
      bar.button.hidden = card.key === "reason" && !all[j];
    });
  }
}
