// Review: a person answers "right" or "wrong" for one point after the other. This is the view and its keys; the answers
// themselves are in answers.js.

class Review {
  // `state`: has the threshold of the page. `changed` is called when the review is opened or closed.
  constructor(data, state, changed) {
    this.map = null; // drawn at the first question
    Object.assign(this, { data, state, changed, open: false, ranges: null });
    this.answers = new Answers(data);
    this.rows = new Map(); // from positions among all points to those that are drawn
    if (data.drawn) data.drawn.forEach((position, row) => this.rows.set(position, row));
    this.makeButtons();
    this.listen();
    this.showEntry();
  }

  row(position) {
    return this.data.drawn ? this.rows.get(position) : position;
  }

  makeButtons() {
    const button = (name, key, text, act) => element(
      "button", { type: "button", class: `say-${name}`, id: `answer-${name}`, "aria-keyshortcuts": key.toUpperCase(), onclick: act },
      text, element("kbd", { "aria-hidden": "true" }, key.toUpperCase()),
    );
    this.acts = {
      r: ["right", "Right", () => this.give("right")],
      w: ["wrong", "Wrong", () => this.give("wrong")],
      o: ["other", "Other cluster", () => this.toggleChoice()],
      s: ["skip", "Skip", () => this.give("skip")],
      u: ["undo", "Undo", () => this.undo()],
    };
    $("review-answers").append(...Object.entries(this.acts).map(([key, [name, text, act]]) => button(name, key, text, act)));
    this.choice = new ClusterChoice($("review-clusters"), this.data, (code) => this.belongsTo(code));
    $("answer-other").hidden = this.data.clusters.length < 2;
    $("answer-other").setAttribute("aria-controls", "review-clusters");
  }

  toggleChoice(open) {
    this.choice.toggle(open);
    $("answer-other").setAttribute("aria-expanded", !$("review-clusters").hidden);
  }

  belongsTo(code) {
    if (code === this.label()) this.give("right");
    else this.give("wrong", code);
  }

  rename() {
    this.choice.rename();
    if (this.open) this.show();
  }

  label() {
    return this.data.all.label[this.answers.current()];
  }

  listen() {
    const when = (id, event, act) => $(id).addEventListener(event, act);
    when("review-open", "click", () => this.enter());
    when("review-close", "click", () => this.leave());
    when("review-download", "click", () => saveFile(this.answers.toCsv(), "answers.csv"));
    when("review-again", "click", () => { this.answers.askAgain(); this.show(); });
    when("review-clear", "click", () => {
      if (confirm(`Delete all ${this.answers.given.size} answers from this browser?`)) { this.answers.clear(); this.show(); }
    });
    for (const [id, place] of [["plan-random", 0], ["plan-uncertain", 1]]) {
      $(id).setAttribute("max", [this.answers.random, this.answers.uncertain][place].length);
      when(id, "change", () => {
        const plan = [...this.answers.plan];
        plan[place] = $(id).value;
        this.answers.setPlan(...plan);
        this.answers.save();
        this.show();
      });
    }
    document.addEventListener("keydown", (event) => this.press(event));
  }

  press(event) {
    if (!this.open || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    if (event.target.closest("input")) return;
    const code = this.choice.keys.get(event.key);
    const [, , act] = this.acts[event.key.toLowerCase()] ?? [];
    if (!act && code === undefined) return;
    event.preventDefault();
    if (act) act();
    else this.belongsTo(code);
  }

  give(word, label = null) {
    const position = this.answers.current();
    if (position === null) return;
    const inside = $("review-clusters").contains(document.activeElement);
    this.answers.give(position, word, label);
    this.toggleChoice(false);
    if (inside) $("review-title").focus(); // what had the focus is gone
    this.show();
  }

  undo() {
    this.answers.undo();
    this.show();
  }

  // One step back: out of the list of clusters, else out of the review.
  letGo() {
    if ($("review-clusters").hidden) { this.leave(); return; }
    this.toggleChoice(false);
    $("answer-other").focus();
  }

  // With so many random questions, if none was answered yet.
  begin(rows) {
    if (!this.answers.history.length) this.answers.setPlan(rows, 0);
    this.enter();
  }

  enter() {
    this.open = true;
    document.body.classList.add("reviewing");
    $("review").hidden = false;
    this.show();
    scrollTo(0, 0);
    $("review-title").focus();
    this.changed();
  }

  leave() {
    this.open = false;
    document.body.classList.remove("reviewing");
    $("review").hidden = true;
    this.showEntry();
    $("review-open").focus();
    this.changed();
  }

  showEntry() {
    const { size } = this.answers.given;
    $("review-open").textContent = size ? `Continue the review (${count(size)} answered)` : "Review points by hand";
    $("review-open").hidden = this.answers.random.length === 0;
  }

  show() {
    const { answers, data } = this;
    const position = answers.current();
    const total = answers.queue.length, done = answers.done();
    $("review-bar").max = Math.max(1, total);
    $("review-bar").value = done;
    $("review-progress").textContent = `${count(done)} of ${count(total)} answered`;
    [$("plan-random").value, $("plan-uncertain").value] = answers.plan;
    $("answer-undo").disabled = answers.history.length === 0;
    for (const name of ["right", "wrong", "other", "skip"]) $(`answer-${name}`).disabled = position === null;
    $("review-stored").hidden = answers.stored;
    this.showEstimate();
    this.showNext(position);
    if (position === null) {
      $("review-title").textContent = total ? "All questions are answered" : "No questions are planned";
      $("review-kind").textContent = "";
      $("review-card").replaceChildren(...(answers.given.size ? describeAnswers(data, answers.given) : []));
      $("review-where").hidden = true;
      return;
    }
    $("review-where").hidden = false;
    const cluster = clusterName(data, this.label());
    $("review-title").replaceChildren("Is ", element("b", {}, data.id(position)), " rightly in ",
      ...(this.label() < 0 ? ["no cluster"] : ["cluster ", element("b", {}, cluster)]), "?");
    $("review-kind").textContent = answers.isRandom(position) ? "drawn at random" : "uncertain";
    this.choice.update(this.label(), data.all.rival ? data.all.rival[position] : -1);
    this.showPlace(this.row(position));
    this.ranges ??= data.values ? columnRanges(data) : [];
    $("review-card").replaceChildren(...describeQuestion(data, this.ranges, this.row(position), this.state.threshold));
  }

  showPlace(row) {
    const { label, rival: rivals } = this.data.points;
    const own = label[row], rival = rivals ? rivals[row] : -1;
    this.map ??= new ReviewMap($("review-map"), this.state.plots[0].plot, this.state.shared);
    this.map.update(row, label, own, rival);
    const named = [own, rival].map((code, place) => (code < 0 ? null : key(shorten(clusterName(this.data, code), 24), place)));
    $("review-legend").replaceChildren(...named.filter((entry) => entry !== null));
  }

  showEstimate() {
    const { right, answered, skipped } = this.answers.count();
    const [low, high] = wilson(right, answered);
    const words = answered
      ? [element("b", {}, percent(right / answered)), ` right: ${count(right)} of ${count(answered)} drawn at random; 95% interval ${percent(low)} to ${percent(high)}`]
      : ["Answer a random point to see what share is right"];
    if (skipped) words.push(`; ${count(skipped)} skipped: skipped ones count as wrong in the guarantee`);
    $("review-estimate").replaceChildren(...words, ".");
    $("review-range").style.setProperty("--low", low);
    $("review-range").style.setProperty("--high", high);
    $("review-range").hidden = !answered;
  }

  showNext(position) {
    const { answers } = this;
    $("review-download").disabled = answers.given.size === 0;
    $("review-clear").disabled = answers.given.size === 0;
    const skipped = answers.skipped().length;
    $("review-again").hidden = position !== null || skipped === 0;
    $("review-again").textContent = `Ask the ${count(skipped)} skipped again`;
  }
}
