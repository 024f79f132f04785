// What the page shows stands in its address, so that it survives a reload and can be sent to others: #threshold=0.3&cluster=1

const round3 = (value) => String(Math.round(1000 * value) / 1000);

function readAddress() {
  const found = new URLSearchParams(location.hash.slice(1));
  const numbers = (text) => text.split(",").map(Number);
  const state = Object.fromEntries([...found].filter(([name]) => ["threshold", "cluster", "point", "colour", "review", "bars"].includes(name)));
  for (const kind of ["lasso", "view"]) {
    if (!found.has(kind)) continue;
    const [plot, ...values] = numbers(found.get(kind));
    if ([plot, ...values].every(Number.isFinite)) state.shape = { kind, plot, values };
  }
  return state;
}

// Nothing is written for what is as it was at first.
function writeAddress(state) {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(state)) {
    if (value === null || value === undefined || value === "") continue;
    if (name === "shape") words.set(value.kind, [value.plot, ...value.values.map(round3)].join(","));
    else words.set(name, value);
  }
  const hash = words.size ? `#${words}` : location.pathname + location.search;
  if (hash !== (location.hash || location.pathname + location.search)) history.replaceState(null, "", hash);
}
