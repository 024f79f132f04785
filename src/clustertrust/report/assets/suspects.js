// An audit begins with the labels that look wrong, what they should be, and the verdicts on clusters.

const FIRST_SUSPECTS = 10;

class Suspects {
  // `look` opens the panel on a row.
  constructor(data, rowOf, look, save) {
    Object.assign(this, { data, rowOf, look, open: false });
    $("suspects-card").hidden = $("reading-given").hidden = !data.audit;
    $("reading-runs").hidden = $("reading-last").hidden = Boolean(data.audit);
    if (!data.audit) return;
    const { rows, found } = data.audit;
    $("suspects-title").textContent = rows.length ? "Labels to check" : "Verdicts on the clusters";
    $("suspects-said").textContent = found ? `Estimate of wrong labels: ${found}.` : "";
    $("suspects-download").hidden = !rows.length;
    $("suspects-download").addEventListener("click", () => save(rows));
    $("suspects-more").hidden = rows.length <= FIRST_SUSPECTS;
    $("suspects-more").addEventListener("click", () => { this.open = !this.open; this.update(); });
    this.update();
  }

  update() {
    const { data } = this;
    if (!data.audit) return;
    const { rows, verdicts } = data.audit;
    const shown = this.open ? rows : rows.slice(0, FIRST_SUSPECTS);
    $("suspects-more").textContent = this.open ? "Show the first ones" : `Show all ${count(rows.length)}`;
    const text = data.original.find(({ name }) => name === data.text_column)?.text;
    const titles = [["row", ""], ["label", ""], ["suggested", ""], ["votes", "number"], ["score", "number"], ...(text ? [[data.text_column, ""]] : [])];
    const head = element("tr", {}, ...titles.map(([words, kind]) => element("th", { scope: "col", class: kind }, words)));
    const name = (kind, i) => clusterName(data, data.all[kind][i]);
    const lines = shown.map((i) => element("tr", {},
      element("td", {}, thumbnail(data, i), pointButton(data, i, () => this.look(this.rowOf(i)))),
      element("td", {}, name("label", i)), element("td", {}, element("b", {}, name("suggested", i))),
      element("td", { class: "number" }, data.all.suggested_score ? percent(data.all.suggested_score[i]) : ""),
      element("td", { class: "number" }, fixed(data.all.score[i])),
      text ? element("td", {}, shorten(text(i), 120)) : null,
    ));
    $("suspects").replaceChildren(element("thead", {}, head), element("tbody", {}, ...lines));
    $("suspects").parentElement.hidden = !rows.length;
    const said = verdicts.filter(([, , , verdict]) => verdict);
    $("verdicts-box").hidden = !said.length;
    const cells = (words, kinds) => words.map((word, j) => element("td", { class: kinds[j] }, word));
    $("verdicts").replaceChildren(
      element("thead", {}, element("tr", {}, ...["cluster", "points", "look wrong", "verdict of the runs"].map((words, j) => element("th", { scope: "col", class: j === 1 || j === 2 ? "number" : "" }, words)))),
      element("tbody", {}, ...said.map(([cluster, points, issues, verdict]) => element("tr", {},
        ...cells([clusterName(data, data.clusters.indexOf(cluster)), count(points), count(issues), capital(verdict)], ["", "number", "number", ""])))),
    );
  }
}

// The name of a point, which opens the panel on it.
function pointButton(data, i, act, most = 40) {
  return element("button", { type: "button", class: data.id(i).length <= 24 ? "link short" : "link", onclick: act }, shorten(data.id(i), most));
}
