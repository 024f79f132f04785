// What sets the clusters apart: for all of them in a line each, for a chosen one in full, with its name, its rival and
// rows that show what it is.

const MANY_COLUMNS = 20; // of numbers without meaning of their own, such as embeddings: texts say more
const TYPICAL = 4; // pictures of each cluster
const EXAMPLES = { typical: ["Typical rows", "High scores"], far: ["Farthest from its centre", ""], doubtful: ["Doubtful rows", "Doubtful rows"] };

class Profile {
  // `choose` takes a cluster, `look` a row, `form` makes the field for a name.
  constructor(card, data, { choose, look, form, rowOf }) {
    Object.assign(this, { card, data, choose, look, form, rowOf, shown: undefined });
    this.byText = data.text_column !== null && (data.values === null || data.values.of > MANY_COLUMNS);
    this.text = data.original.find(({ name }) => name === data.text_column)?.text;
    card.hidden = data.clusters.length < 1;
  }

  update(cluster) {
    const known = cluster !== null && cluster >= 0;
    const state = `${cluster} ${JSON.stringify(this.data.givenNames())}`;
    if (this.shown === state) return;
    this.shown = state;
    $("profile-title").textContent = known ? `What sets cluster ${clusterName(this.data, cluster)} apart` : this.byText ? "What each cluster is about" : "What sets each cluster apart";
    const parts = known ? [...this.about(cluster), ...this.full(cluster), ...this.examples(cluster)] : this.overview();
    $("profile").replaceChildren(...parts);
    $("profile").scrollTop = 0;
    $("profile-hint").hidden = !known || this.byText || !this.data.profiles.columns[cluster].length;
  }

  overview() {
    const { data, data: { clusters, profiles: { columns, categories } } } = this;
    const word = ([name, effect]) => element("span", { class: "trait" }, `${effect > 0 ? "↑" : "↓"}\u00a0`, name, element("small", {}, `\u00a0${signed(effect)}`));
    const share = ([name, value, inside]) => element("span", { class: "trait" }, `${name}: ${value}`, element("small", {}, `\u00a0${percent(inside)}`));
    const nothing = data.values === null && !data.original.length ? "there are no columns to compare" : "nothing stands out";
    const present = new Set(data.all.label);
    return [element("dl", { class: "traits" }, ...clusters.flatMap((_, code) => {
      if (!present.has(code)) return [];
      const numbers = this.byText ? [] : columns[code].filter(([, effect]) => Math.abs(effect) >= NOTABLE).slice(0, clusters.length <= 4 ? 5 : 3).map(word);
      const traits = [...numbers, ...categories[code].filter(([, , a, b]) => a > b).slice(0, clusters.length <= 4 ? 2 : 1).map(share)];
      if (this.byText) traits.push(...(data.examples[code]?.typical ?? []).slice(0, 2).map((i) => element("span", { class: "quote" }, shorten(this.text(i), 110))));
      const pictures = (data.examples[code]?.typical ?? []).slice(0, TYPICAL).map((i) => thumbnail(data, i)).filter((picture) => picture);
      if (pictures.length) traits.unshift(element("div", {}, ...pictures));
      const button = element("button", { type: "button", class: "link", onclick: () => this.choose(code) }, clusterName(data, code));
      return [element("dt", {}, button), element("dd", {}, ...(traits.length ? traits : [nothing]))];
    }))];
  }

  // Its name, its rival, and whether it is a single row.
  about(cluster) {
    const { data } = this;
    const rival = data.rivals[cluster];
    const facts = [];
    if (this.size(cluster) === 1) facts.push("This cluster is a single row: its score says little.");
    if (rival) facts.push(`Nearest rival: ${clusterName(data, rival[0])}, for ${percent(rival[1])} of its points.`);
    return [this.form(cluster), ...facts.map((text) => element("p", {}, text))];
  }

  size(cluster) {
    let size = 0;
    for (const label of this.data.all.label) if (label === cluster) size++;
    return size;
  }

  full(cluster) {
    const { columns, categories } = this.data.profiles;
    const parts = [];
    const cells = (texts) => texts.map((text) => element("td", { class: "number" }, text));
    const table = (head, rows) => element("table", { class: "values" },
      element("thead", {}, element("tr", {}, ...head.map((text, j) => element(text ? "th" : "td", { scope: text ? "col" : null, class: j && j < 3 ? "number" : "" }, text)))),
      element("tbody", {}, ...rows));
    if (columns[cluster].length && !this.byText) {
      const strongest = Math.max(1, Math.abs(columns[cluster][0][1])); // fills its half of the bar
      parts.push(table(["column", "mean here", "elsewhere", "difference"], columns[cluster].map(([name, effect, inside, outside]) => element(
        "tr", {}, element("th", { scope: "row" }, name), ...cells([brief(inside), brief(outside)]), element("td", {}, effectBar(effect, strongest))))));
    }
    if (categories[cluster].length) {
      parts.push(table(["category", "share here", "elsewhere", ""], categories[cluster].map(([name, value, inside, outside]) => element(
        "tr", {}, element("th", { scope: "row" }, `${name}: ${value}`), ...cells([percent(inside), percent(outside)]), element("td")))));
    }
    return parts.length || this.byText ? parts : [element("p", { class: "muted" }, "Nothing stands out.")];
  }

  // Rows of each kind: a name that opens the panel, and its text.
  examples(cluster) {
    const { data } = this;
    const found = data.examples[cluster];
    if (!found) return [];
    const named = data.text_column === data.id_name; // the text is the name: once is enough
    const quote = (i) => (this.text && !named ? element("span", { class: "quote" }, shorten(this.text(i), 160)) : null);
    const line = (i) => element("li", {}, thumbnail(data, i), pointButton(data, i, () => this.look(this.rowOf(i)), named ? 160 : 40),
      element("small", {}, ` ${fixed(data.all.score[i], 2)}`), quote(i));
    return Object.entries(EXAMPLES).flatMap(([kind, [near, plain]]) => {
      const title = data.values ? near : plain;
      return found[kind].length && title ? [element("h3", {}, title), element("ul", { class: this.text ? "rows texts" : "rows" }, ...found[kind].map(line))] : [];
    });
  }
}

const NOTABLE = 0.2; // a small difference by Cohen's rule; less is not told

const signed = (effect) => `${effect > 0 ? "+" : "−"}${Math.abs(effect) >= 99 ? "99 or more" : Math.abs(effect).toFixed(1)}`;

function effectBar(effect, strongest) {
  const bar = element("span", { class: "effect", "aria-hidden": "true" }, element("span"));
  const half = 50 * Math.min(1, Math.abs(effect) / strongest);
  bar.firstChild.style.left = `${effect > 0 ? 50 : 50 - half}%`;
  bar.firstChild.style.width = `${half}%`;
  return element("span", { class: "effects" }, bar, element("span", { class: "number" }, signed(effect)));
}
