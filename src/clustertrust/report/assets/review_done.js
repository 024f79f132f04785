// When all questions are answered: what was said about each cluster, and what to do next.

function describeAnswers(data, given) {
  const words = ["right", "wrong", "skip"];
  const counts = new Map();
  for (const [position, { word }] of given) {
    const code = data.all.label[position];
    if (!counts.has(code)) counts.set(code, Object.fromEntries(words.map((name) => [name, 0])));
    counts.get(code)[word]++;
  }
  const cell = (text) => element("td", { class: "number" }, text);
  const rows = [...counts].sort((a, b) => a[0] - b[0]).map(([code, count_of]) => element(
    "tr", {}, element("th", { scope: "row" }, clusterName(data, code)), ...words.map((word) => cell(count(count_of[word])))));
  const head = ["cluster", "right", "wrong", "skipped"].map((text, j) => element("th", { scope: "col", class: j ? "number" : "" }, text));
  return [
    element("p", {}, "Download the answers, and run the command on the right: it learns from them and finds the rows to keep. Or plan more questions."),
    element("table", { class: "values answers" }, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows)),
    element("p", { class: "hint" }, "Uncertain points are wrong more often than others: what holds for all points is the estimate from the random ones."),
  ];
}
