// The JSON in the page → typed arrays, and a few words and numbers for people.

const ARRAYS = {
  f4: Float32Array, f8: Float64Array, i1: Int8Array, i2: Int16Array, i4: Int32Array, u1: Uint8Array, u4: Uint32Array,
};

async function expand(text) {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

async function unpack(packed) {
  return new ARRAYS[packed.dtype](await expand(packed.data));
}

async function readIds(packed) {
  if (packed.kind === "range") return (i) => String(packed.start + packed.step * i);
  if (packed.kind === "numbers") {
    const values = await unpack(packed.values);
    return (i) => String(values[i]);
  }
  const texts = JSON.parse(new TextDecoder().decode(await expand(packed.data)));
  return (i) => texts[i];
}

// Columns in `all` have an entry for every point; those in `points` one for each point that is drawn, "row" for short.
async function readContents() {
  const contents = JSON.parse(document.getElementById("contents").textContent);
  const names = Object.keys(contents.rows);
  const [id, labels, columns, drawn] = await Promise.all([
    readIds(contents.ids),
    unpack(contents.labels),
    Promise.all(names.map((name) => unpack(contents.rows[name]))),
    contents.drawn ? unpack(contents.drawn) : null,
  ]);
  const all = { label: labels };
  names.forEach((name, j) => { all[name] = columns[j]; });
  const points = {};
  for (const [name, column] of Object.entries(all)) {
    points[name] = drawn ? column.constructor.from(drawn, (i) => column[i]) : column;
  }
  const { view, votes, reasons, values, questions } = contents;
  const [x, y, middles] = await Promise.all([unpack(view.x), unpack(view.y), unpack(view.middles)]);
  const data = {
    ...contents, all, points, drawn, id,
    m: drawn ? drawn.length : contents.n,
    position: (row) => (drawn ? drawn[row] : row),
    view: { ...view, x, y, middles },
    rowNumber: contents.row_numbers ? await readIds(contents.row_numbers) : null,
    questions: { ...questions, random: await unpack(questions.random), uncertain: await unpack(questions.uncertain) },
  };
  if (votes) {
    const width = votes.shares.shape[1];
    data.votes = { width, clusters: await unpack(votes.clusters), shares: await unpack(votes.shares) };
  }
  data.cards = await Promise.all(contents.cards.map(async (card) => {
    if (!card.bars) return card;
    return { ...card, bars: { ...card.bars, codes: await unpack(card.bars.codes), counts: await unpack(card.bars.counts) } };
  }));
  if (reasons) data.reasons = { ...reasons, of: await unpack(reasons.of) };
  if (values) data.values = { ...values, data: await unpack(values.data), means: await unpack(values.means) };
  // Columns of the table that the points come from, by their positions among all.
  data.original = await Promise.all(contents.original.map(
    async ({ texts, value, ...column }) => ({ ...column, text: texts ? await readIds(texts) : valueText(data.values, value) })));
  return data;
}

// A column of numbers as text: those that the page has of every point anyway.
function valueText({ columns, data: values }, j) {
  const exact = values instanceof Float64Array;
  return (i) => {
    const value = values[i * columns.length + j];
    return Number.isNaN(value) ? "" : String(exact ? value : Number(value.toPrecision(7)));
  };
}

// [cluster, share] of the clusters with a vote for the point, the most votes first; of votes that were not given, those
// for the point's own cluster may be known.
function votesOf(data, row) {
  if (!data.votes) {
    const { label, consensus_strength: strength } = data.points;
    return strength && label[row] >= 0 && strength[row] > 0 ? [[label[row], strength[row]]] : [];
  }
  const found = [];
  for (let j = 0; j < data.votes.width; j++) {
    const share = data.votes.shares[row * data.votes.width + j];
    if (share > 0) found.push([data.votes.clusters[row * data.votes.width + j], share]);
  }
  return found;
}

// The rule of the whole library: a score at the threshold is not kept, and no score is not either.
const isKept = (score, threshold) => score > threshold;

// Number of the reason of a point, by its position among all: the file holds what would speak against each.
function reasonOf({ all, reasons: { of, core, unassigned } }, i, threshold) {
  return of[i] !== unassigned && isKept(all.score[i], threshold) ? core : of[i];
}

// The same in words, a name and a sentence; of a label that an audit would change, what it suggests.
function reasonParts(data, row, threshold) {
  const { points, reasons: { core, unassigned } } = data;
  const code = reasonOf(data, data.position(row), threshold);
  const [head, sentence] = ownReason(data, row, code);
  const suggested = points.suggested?.[row] ?? -1;
  const isOther = code !== core && code !== unassigned && suggested >= 0 && suggested !== points.label[row];
  return [head, isOther ? `${clusterName(data, suggested)} is suggested instead.` : sentence];
}

// A boundary is between two clusters.
function ownReason(data, row, code) {
  const { points, reasons: { names, sentences, boundary } } = data;
  if (code !== boundary || !(points.rival?.[row] >= 0)) return [capital(names[code]), sentences[code]];
  const [own, rival] = [clusterName(data, points.label[row]), clusterName(data, points.rival[row])];
  const head = `Boundary between ${own} and ${rival}`;
  if (!points.consensus_strength || !points.margin) return [head, sentences[boundary]];
  const ours = points.consensus_strength[row];
  const theirs = Math.max(0, Math.round(1e6 * (ours - points.margin[row])) / 1e6); // 32 bits leave a little
  if (isNear(data, row)) {
    const votes = ours >= 1 ? "all votes are" : `${percent(ours)} of the votes are`;
    return [head, `${votes} for ${own}, but ${theirs > 0 ? "another cluster" : rival} lies about as near.`];
  }
  const votes = theirs > 0 ? `${percents([ours, theirs]).join(" and ")} of the votes` : `no run votes for ${rival}, which lies about as near`;
  return [`${head} (${votes})`, sentences[boundary]];
}

const reasonText = (data, row, threshold) => reasonParts(data, row, threshold).join(": ");

// Whether a boundary is one of distances: the runs agree on the point, or nearly all vote alike.
function isNear({ points, reasons: { stable, nearly_all: nearlyAll } }, row) {
  return points.stability[row] >= stable - 1e-6 || points.consensus_strength?.[row] >= nearlyAll - 1e-6;
}

const capital = (text) => text[0].toUpperCase() + text.slice(1);
// By the name that a person gave, else as it is labelled.
const clusterName = (data, code) => (code < 0 ? "none" : data.names.get(data.clusters[code]) || data.clusters[code]);
const count = (n) => n.toLocaleString("en-US");
const plural = (n, word) => `${count(n)} ${word}${n === 1 ? "" : "s"}`;
const fixed = (value, digits = 3) => (Number.isNaN(value) ? "–" : value.toFixed(digits));
// Never 0.000: an error that is not 0 is rounded up. Nothing for 0, and where there is none.
const errorText = (error) => (error > 0 ? fixed(Math.max(error, 0.001)) : "");
const percent = (share) => {
  if (share > 0 && share < 0.005) return "<1%";
  return share < 1 && share >= 0.995 ? ">99%" : `${Math.round(100 * share)}%`;
};
// Shares of one whole as percentages that add up: each rounded alone, they may give 101.
const percents = (shares) => {
  const left = Math.max(0, 1 - shares.reduce((sum, share) => sum + share, 0));
  const exact = [...shares, left].map((share) => Math.round(1e6 * share)); // in ten thousandths: equal ones stay equal
  const whole = exact.map((value) => Math.floor(value / 1e4));
  const missing = 100 - whole.reduce((sum, value) => sum + value, 0);
  const order = exact.map((_, j) => j).sort((i, j) => (exact[j] % 1e4) - (exact[i] % 1e4) || i - j);
  for (const j of order.slice(0, Math.max(0, missing))) whole[j] += 1;
  return shares.map((share, j) => {
    if (share > 0 && whole[j] === 0) return "<1%";
    return share < 1 - 1e-9 && whole[j] === 100 ? ">99%" : `${whole[j]}%`;
  });
};
const digits = (value) => {
  if (Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  if (size >= 1e15 || (size > 0 && size < 1e-4)) return value.toExponential(3);
  return size >= 1e5 ? value.toFixed(0) : String(Number(value.toPrecision(5)));
};

// How many entries of a sorted array are not kept.
function countDropped(sorted, threshold) {
  let low = 0, high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isKept(sorted[middle], threshold)) high = middle;
    else low = middle + 1;
  }
  return low;
}

// One element: text becomes text, never markup.
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") made.className = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

// Words with options of the command, such as --resample 0.8, that no line break splits.
function withOptions(text) {
  return text.split(/(--[a-z-]+(?: [0-9][0-9.]*)?)/).map((part, j) => (j % 2 ? element("code", { class: "short" }, part) : part));
}

function shape(tag, attributes = {}, text = "") {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.textContent = text;
  return made;
}

const $ = (id) => document.getElementById(id);

const CLUSTER_COLUMNS = ["label", "rival", "suggested", "second_choice"];

function toCsv(data, positions, threshold) {
  const names = data.columns.filter((name) => data.all[name] || (name === "reason" && data.reasons));
  const quote = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const cluster = (code) => quote(code < 0 ? data.unassigned : data.clusters[code]);
  const named = Object.keys(data.givenNames()).length ? ["label_name"] : []; // labels stay as they are: other files have them
  const number = (value) => (Number.isNaN(value) ? "" : String(Number(value.toPrecision(7)))); // stored in 32 bits
  const cell = (name, i) => {
    if (name === "reason") return data.reasons.names[reasonOf(data, i, threshold)];
    const value = data.all[name][i];
    if (CLUSTER_COLUMNS.includes(name)) return cluster(value);
    if (name === "issue") return value ? "True" : "False";
    return name === "score" ? (Number.isNaN(value) ? "" : String(value)) : number(value);
  };
  const own = data.original.filter(({ name }) => name !== data.id_name);
  const titles = own.map(({ name }) => (names.includes(name) ? `${name}_input` : name));
  const pieces = [[data.id_name, ...titles, ...named, ...names].map(quote).join(",") + "\n"];
  for (let start = 0; start < positions.length; start += 10000) {
    const lines = [];
    for (const i of positions.slice(start, start + 10000)) {
      const label = data.all.label[i];
      const cells = [data.id(i), ...own.map(({ text }) => text(i)), ...named.map(() => (label < 0 ? "" : clusterName(data, label)))].map(quote);
      lines.push(`${[...cells, ...names.map((name) => cell(name, i))].join(",")}\n`);
    }
    pieces.push(lines.join(""));
  }
  return new Blob(pieces, { type: "text/csv" });
}

function saveFile(blob, name) {
  const link = element("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}
