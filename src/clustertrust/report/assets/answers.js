// A person's answers: which point comes next, what was said, how to take it back, and the file for `clustertrust decide`.
// The history is all that is stored: answers are replayed from it, and the last word on a point counts.

const RESERVED = ["row", "answer", "should_be", "label", "asked", "inclusion", "round"];
const quoteCell = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

class Answers {
  constructor(data) {
    const { random, uncertain, planned } = data.questions;
    Object.assign(this, { data, random: [...random], uncertain: [...uncertain], pending: [], stored: true });
    this.plan = [Math.min(planned[0], random.length), Math.min(planned[1], uncertain.length)];
    this.history = [];
    this.place = `clustertrust-answers-${data.fingerprint}`;
    this.load();
    this.arrange();
  }

  // Storage may be forbidden, full, or hold what another program wrote.
  load() {
    try {
      const { plan, history } = JSON.parse(localStorage.getItem(this.place)) ?? {};
      const known = ([i, word, label]) => Number.isInteger(i) && i >= 0 && i < this.data.n
        && ["right", "wrong", "skip"].includes(word) && (label === null || label in this.data.clusters);
      if (Array.isArray(history) && history.every(known)) this.history = history;
      if (Array.isArray(plan)) this.setPlan(...plan);
    } catch (error) {
      this.stored = !(error instanceof DOMException);
    }
  }

  save() {
    try {
      localStorage.setItem(this.place, JSON.stringify({ plan: this.plan, history: this.history }));
      this.stored = true;
    } catch {
      this.stored = false;
    }
  }

  setPlan(random, uncertain) {
    const within = (wish, most) => Math.min(most, Math.max(0, Math.floor(Number(wish)) || 0));
    this.plan = [within(random, this.random.length), within(uncertain, this.uncertain.length)];
    this.arrange();
  }

  arrange() {
    this.given = new Map(this.history.map(([i, word, label]) => [i, { word, label }]));
    const first = this.random.slice(0, this.plan[0]);
    const asked = new Set(first);
    this.queue = [...first, ...this.uncertain.filter((i) => !asked.has(i)).slice(0, this.plan[1])];
  }

  // The question to ask now, a position among all points; null: all are answered.
  current() {
    return this.pending[0] ?? this.queue.find((i) => !this.given.has(i)) ?? null;
  }

  give(i, word, label = null) {
    this.history.push([i, word, label]);
    this.pending = this.pending.filter((other) => other !== i);
    this.arrange();
    this.save();
  }

  undo() {
    if (!this.history.length) return;
    const [i] = this.history.pop();
    this.pending.unshift(i);
    this.arrange();
    this.save();
  }

  askAgain() {
    this.pending = this.skipped();
  }

  clear() {
    Object.assign(this, { history: [], pending: [] });
    this.arrange();
    this.save();
  }

  skipped() {
    return [...this.given].filter(([, { word }]) => word === "skip").map(([i]) => i);
  }

  done() {
    return this.queue.filter((i) => this.given.has(i)).length;
  }

  isRandom(i) {
    const at = this.random.indexOf(i);
    return at >= 0 && at < this.plan[0];
  }

  // The random sample so far: the start of the random order without a gap.
  sample() {
    const end = this.random.findIndex((i) => !this.given.has(i));
    return this.random.slice(0, Math.min(this.plan[0], end < 0 ? this.random.length : end));
  }

  // Right, answered and skipped among the random sample.
  count() {
    const words = this.sample().map((i) => this.given.get(i).word);
    const right = words.filter((word) => word === "right").length, skipped = words.filter((word) => word === "skip").length;
    return { right, answered: words.length - skipped, skipped };
  }

  toCsv() {
    const { data } = this;
    const sample = new Set(this.sample());
    const placed = data.rowNumber !== null;
    const named = !placed || (data.ids.kind !== "range" && !RESERVED.includes(data.id_name));
    const head = [...(placed ? ["row"] : []), ...(named ? [data.id_name] : []), "answer", "should_be", "label", "asked", "inclusion", "round"];
    const cluster = (code) => (code < 0 ? data.unassigned : data.clusters[code]);
    const inclusion = String(Number((sample.size / data.questions.of).toPrecision(12)));
    const lines = [...this.given].map(([i, { word, label }]) => [
      ...(placed ? [data.rowNumber(i)] : []), ...(named ? [data.id(i)] : []), word, label === null ? "" : cluster(label),
      cluster(data.all.label[i]), ...(sample.has(i) ? ["random", inclusion] : ["learn", ""]), "1",
    ]);
    return new Blob([head, ...lines].map((cells) => `${cells.map(quoteCell).join(",")}\n`), { type: "text/csv" });
  }
}
