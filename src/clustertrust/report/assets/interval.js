// The share of a random sample, with Wilson's interval: it keeps its level for few answers and for shares near 0 or 1.

const NORMAL_95 = 1.959964; // 95 % of a normal distribution lie within so many standard deviations

function wilson(right, n) {
  if (n === 0) return [0, 1];
  const share = right / n, z2 = NORMAL_95 ** 2;
  const middle = (share + z2 / (2 * n)) / (1 + z2 / n);
  const half = (NORMAL_95 / (1 + z2 / n)) * Math.sqrt((share * (1 - share)) / n + z2 / (4 * n * n));
  return [Math.max(0, middle - half), Math.min(1, middle + half)];
}
