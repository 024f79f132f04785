// Names that a person gives to clusters: they stay in the browser, travel into downloads, and back by `--names`.

class Names {
  constructor(data, changed) {
    Object.assign(this, { data, changed, place: `clustertrust-names-${data.fingerprint}` });
    const known = new Map(Object.entries(data.names));
    try {
      const stored = JSON.parse(localStorage.getItem(this.place));
      for (const [label, name] of Object.entries(stored ?? {})) if (typeof name === "string" && data.clusters.includes(label)) known.set(label, name);
    } catch { /* storage may be forbidden, or hold what another program wrote */ }
    data.names = known;
    data.givenNames = () => Object.fromEntries([...known].filter(([, name]) => name));
  }

  give(code, name) {
    this.data.names.set(this.data.clusters[code], name.trim());
    try { localStorage.setItem(this.place, JSON.stringify(Object.fromEntries(this.data.names))); } catch { /* the page still shows it */ }
    this.changed();
  }

  // A field for the name of a cluster, and the file for the library.
  form(code) {
    const { data } = this;
    const field = element("input", { type: "text", id: "cluster-name", maxlength: "60", autocomplete: "off", placeholder: data.clusters[code], value: data.names.get(data.clusters[code]) ?? "" });
    field.addEventListener("change", () => this.give(code, field.value));
    const save = () => saveFile(new Blob([`${JSON.stringify(data.givenNames(), null, 1)}\n`], { type: "application/json" }), "names.json");
    const button = element("button", { type: "button", id: "save-names", title: "For clustertrust report --names names.json", onclick: save }, "Save names.json");
    button.disabled = !Object.keys(data.givenNames()).length;
    return element("p", { class: "naming" }, element("label", { class: "inline" }, "Name ", field), button);
  }
}
