// "It belongs to another cluster": a group of buttons, each with a key while there are enough of them.

class ClusterChoice {
  // `choose` is called with the code of a cluster.
  constructor(root, data, choose) {
    Object.assign(this, { root, data, choose });
    const digit = data.clusters.every((name) => /^\d$/.test(name)); // then the name is the key
    this.keys = new Map(data.clusters.slice(0, digit ? 10 : 9).map((name, code) => [digit ? name : String(code + 1), code]));
    const keyOf = new Map([...this.keys].map(([key, code]) => [code, key]));
    this.buttons = data.clusters.map((name, code) => {
      const key = keyOf.get(code);
      return element("button", { type: "button", "aria-keyshortcuts": key ?? null, onclick: () => choose(code) },
        element("span", {}, clusterName(data, code)), key === undefined || key === name ? null : element("kbd", { "aria-hidden": "true" }, key));
    });
    root.append(...this.buttons);
    root.addEventListener("keydown", (event) => this.move(event));
  }

  rename() {
    this.buttons.forEach((button, code) => { button.firstChild.textContent = clusterName(this.data, code); });
  }

  // Arrows move among the buttons, as Tab does.
  move(event) {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const there = this.buttons.filter((button) => !button.hidden);
    const at = there.indexOf(document.activeElement);
    there[(at + step + there.length) % there.length].focus();
  }

  toggle(open = this.root.hidden) {
    this.root.hidden = !open;
    if (open) (this.buttons[this.rival] ?? this.buttons.find((button) => !button.hidden))?.focus();
  }

  // The point's own cluster is no other one; its rival is marked.
  update(own, rival) {
    this.rival = rival;
    this.buttons.forEach((button, code) => {
      button.hidden = code === own;
      button.classList.toggle("rival", code === rival);
      button.title = code === rival ? "its rival" : "";
    });
  }
}
