// What the page says first: whether there is structure, as a sentence and a small picture, which clusters hold up, and
// what to do next.

// Names of clusters that are listed of each kind.
const SINGLE = "Single rows";
const MOST_NAMED = 8;
const PICTURE = { width: 300, height: 86, base: 66, top: 6, edge: 8 };

class Opening {
  // `leads`: what a step does, by the part of the page that it names.
  constructor(data, leads) {
    Object.assign(this, { data });
    $("verdict").hidden = !data.verdict;
    $("verdict").textContent = data.verdict;
    $("verdict").className = `verdict ${data.structure}`;
    $("quoted").hidden = !data.quoted.length;
    $("quoted").replaceChildren(...data.quoted.map((text) => element("p", {}, text)));
    const steps = data.steps.map(({ text, to, rows }) => element("li", {}, leads[to] ? element("button", { type: "button", class: "link", "data-to": to, onclick: () => leads[to](rows) }, text) : text));
    $("steps").replaceChildren(...steps);
    $("to-do").hidden = !steps.length;
    $("picture").hidden = !data.score_shares;
  }

  // Kinds of clusters, and the share that each exceeds: of points above chance, by the limits of the verdict, so that
  // the two agree; of kept points where chance is not known.
  kinds() {
    const { above_chance: known, limits } = this.data;
    return known ? [["Clear clusters", limits.clear], ["Weak clusters", limits.weak], ["No clearer than chance", -1]] : [["Mostly kept", 0.5], ["Mostly dropped", -1]];
  }

  // Which clusters hold up; nothing where there is no structure or no point is kept, since the verdict says it, and on
  // audits, which have verdicts on clusters.
  // `rows`: those of the table of clusters, with what is kept of each.
  sort(rows, choose, nameOf) {
    const { above_chance: known, structure, audit } = this.data;
    const clusters = rows.filter(({ code, size }) => code >= 0 && size > 0).map((row) => ({ ...row, share: known ? known[row.code] : row.kept / row.size }));
    const kindOf = ({ size, share }) => (size === 1 ? SINGLE : this.kinds().find(([, limit]) => share > limit)[0]);
    const kinds = [...this.kinds().map(([title]) => title), SINGLE].map((title) => {
      const members = clusters.filter((cluster) => kindOf(cluster) === title).sort((a, b) => b.share - a.share);
      const names = members.slice(0, MOST_NAMED).map(({ code, size, share }) => element("span", {},
        element("button", { type: "button", class: "link", onclick: () => choose(code) }, shorten(nameOf(code), 30)), size > 1 ? element("small", {}, `\u00a0${percent(share)}`) : null));
      const more = members.length > MOST_NAMED ? [element("span", { class: "muted" }, `and ${count(members.length - MOST_NAMED)} more`)] : [];
      return members.length ? [element("dt", {}, title), element("dd", {}, ...names, ...more)] : [];
    });
    $("soundness").hidden = audit !== null || structure === "none" || !clusters.some(({ share }) => share > 0);
    const asked = $("soundness").contains(document.activeElement) ? document.activeElement.textContent : null;
    $("soundness").replaceChildren(...kinds.flat());
    if (asked !== null) [...$("soundness").querySelectorAll("button")].find((button) => button.textContent === asked)?.focus();
  }

  // The scores of the data over those of data without clusters, with the threshold.
  update(threshold) {
    const { score_shares: shares, chance } = this.data;
    if (!shares) return;
    const { width, height, base, top, edge } = PICTURE;
    const most = Math.max(...shares.data, ...shares.null, 1e-9);
    const n = shares.data.length;
    const x = (score) => edge + score * (width - 2 * edge);
    const y = (share) => base - (share / most) * (base - top);
    const outline = (values, from, to) => {
      let path = "";
      values.forEach((value, j) => {
        const left = Math.max(from, j / n), right = Math.min(to, (j + 1) / n);
        if (value && right > left) path += `M${x(left)} ${base}V${y(value)}H${x(right)}V${base}Z`;
      });
      return path;
    };
    const line = (values) => `M${x(0)} ${base}${values.map((value, j) => `V${y(value)}H${x((j + 1) / n)}`).join("")}V${base}`;
    const svg = shape("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": this.describe(threshold) });
    svg.append(
      shape("path", { class: "dropped", d: outline(shares.data, 0, threshold) }),
      shape("path", { class: "kept", d: outline(shares.data, threshold, 1) }),
      shape("path", { class: "null", d: line(shares.null) }),
      shape("line", { class: "cut", x1: x(threshold), x2: x(threshold), y1: 0, y2: base }),
      ...[0, 0.5, 1].map((score) => shape("text", { x: x(score), y: height - 6, "text-anchor": score === 0 ? "start" : score === 1 ? "end" : "middle" }, String(score))),
    );
    $("picture-plot").replaceChildren(svg);
    $("picture-said").textContent = chance === null ? "" : `Bars: your data. Line: data without clusters; 95% of its points score at most ${digits(chance)}.`;
  }

  describe(threshold) {
    return `Scores of the data and of data without clusters, cut at ${digits(threshold)}.`;
  }
}
