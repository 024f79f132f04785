// What sets the clusters apart: for all of them in a line each, for a chosen one in full.

class Profile {
  constructor(card, data, choose) {
    Object.assign(this, { card, data, choose, shown: undefined });
    const { columns, categories } = data.profiles;
    card.hidden = data.clusters.length < 2 || ![...columns, ...categories].some((list) => list.length);
  }

  update(cluster) {
    if (this.card.hidden || this.shown === cluster) return;
    this.shown = cluster;
    const known = cluster !== null && cluster >= 0;
    $("profile-title").textContent = known ? `What sets cluster ${clusterName(this.data, cluster)} apart` : "What sets each cluster apart";
    $("profile").replaceChildren(...(known ? this.full(cluster) : this.overview()));
    $("profile-hint").hidden = !known;
  }

  overview() {
    const { clusters, profiles: { columns, categories } } = this.data;
    const word = ([name, effect]) => element("span", { class: "trait" }, `${effect > 0 ? "↑" : "↓"}\u00a0`, name, element("small", {}, `\u00a0${signed(effect)}`));
    const share = ([name, value, inside]) => element("span", { class: "trait" }, `${name}: ${value}`, element("small", {}, `\u00a0${percent(inside)}`));
    return [element("dl", { class: "traits" }, ...clusters.flatMap((name, code) => {
      const traits = [...columns[code].slice(0, clusters.length <= 4 ? 5 : 3).map(word), ...categories[code].filter(([, , a, b]) => a > b).slice(0, 1).map(share)];
      const button = element("button", { type: "button", class: "link", onclick: () => this.choose(code) }, name);
      return [element("dt", {}, button), element("dd", {}, ...(traits.length ? traits : ["nothing stands out"]))];
    }))];
  }

  full(cluster) {
    const { columns, categories } = this.data.profiles;
    const parts = [];
    const cells = (texts) => texts.map((text) => element("td", { class: "number" }, text));
    const table = (head, rows) => element("table", { class: "values" },
      element("thead", {}, element("tr", {}, ...head.map((text, j) => element("th", { scope: "col", class: j && j < 3 ? "number" : "" }, text)))),
      element("tbody", {}, ...rows));
    if (columns[cluster].length) {
      const strongest = Math.max(1, Math.abs(columns[cluster][0][1])); // fills its half of the bar
      parts.push(table(["column", "mean here", "elsewhere", "difference"], columns[cluster].map(([name, effect, inside, outside]) => element(
        "tr", {}, element("th", { scope: "row" }, name), ...cells([brief(inside), brief(outside)]), element("td", {}, effectBar(effect, strongest))))));
    }
    if (categories[cluster].length) {
      parts.push(table(["category", "share here", "elsewhere", ""], categories[cluster].map(([name, value, inside, outside]) => element(
        "tr", {}, element("th", { scope: "row" }, `${name}: ${value}`), ...cells([percent(inside), percent(outside)]), element("td")))));
    }
    return parts.length ? parts : [element("p", { class: "muted" }, "Nothing stands out.")];
  }
}

const signed = (effect) => `${effect > 0 ? "+" : "−"}${Math.abs(effect) >= 99 ? "99 or more" : Math.abs(effect).toFixed(1)}`;

function effectBar(effect, strongest) {
  const bar = element("span", { class: "effect", "aria-hidden": "true" }, element("span"));
  const half = 50 * Math.min(1, Math.abs(effect) / strongest);
  bar.firstChild.style.left = `${effect > 0 ? 50 : 50 - half}%`;
  bar.firstChild.style.width = `${half}%`;
  return element("span", { class: "effects" }, bar, element("span", { class: "number" }, signed(effect)));
}
