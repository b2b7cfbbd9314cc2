// Statistics of a selection of topics. Python has computed those of all topics and of each group.

function logGamma(x) {
  const c = [76.18009172947146, -86.50532032941677, 24.01409824083091, -1.231739572450155,
    .1208650973866179e-2, -.5395239384953e-5];
  const t = x + 5.5 - (x + .5) * Math.log(x + 5.5);
  return Math.log(2.5066282746310005 * (1.000000000190015 +
    c.reduce((sum, value, i) => sum + value / (x + i + 1), 0)) / x) - t;
}
// The regularised incomplete beta function by its continued fraction (Lentz's method).
function incompleteBeta(x, a, b) {
  if (x <= 0 || x >= 1) return x <= 0 ? 0 : 1;
  if (x > (a + 1) / (a + b + 2)) return 1 - incompleteBeta(1 - x, b, a);
  const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) +
    b * Math.log(1 - x)) / a;
  const safe = value => Math.abs(value) < 1e-300 ? 1e-300 : value;
  let d = 1 / safe(1 - (a + b) * x / (a + 1)), c = 1, f = d;
  for (let m = 1; m < 300; m++) {
    for (const top of [m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
      -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))]) {
      d = 1 / safe(1 + top * d);
      c = safe(1 + top / c);
      f *= c * d;
    }
    if (Math.abs(c * d - 1) < 1e-14) break;
  }
  return front * f;
}
// Two-sided p of Student's t.
const studentP = (t, freedom) => incompleteBeta(freedom / (freedom + t * t), freedom / 2, .5);
const studentLimit = once(freedom => {
  let low = 0, high = 700;
  for (let i = 0; i < 60; i++) {
    const middle = (low + high) / 2;
    if (studentP(middle, freedom) > .05) low = middle; else high = middle;
  }
  return high;
});
function describe(values) {
  const n = values.length, mean = values.reduce((a, b) => a + b, 0) / n;
  const spread = Math.sqrt(values.reduce((sum, v) => sum + (v - mean) ** 2, 0) / (n - 1));
  return { n, mean, spread, half: n > 1 ? studentLimit(n - 1) * spread / Math.sqrt(n) : null };
}
// The paired t-test: p is 1 without any difference, 0 for a constant one.
function pairedTest(differences) {
  const { n, mean, spread } = describe(differences);
  if (n < 2) return { n, mean, p: null, effect: null };
  if (!(spread > 1e-9)) return { n, mean, p: mean ? 0 : 1, effect: mean ? Math.sign(mean) * 99 : 0 };
  return { n, mean, p: studentP(mean / spread * Math.sqrt(n), n - 1), effect: mean / spread };
}
function holm(ps) {
  const order = ps.map((_, i) => i).filter(i => ps[i] !== null).sort((a, b) => ps[a] - ps[b]);
  const found = ps.map(() => null);
  let most = 0;
  order.forEach((i, at) => {
    most = Math.max(most, Math.min(1, ps[i] * (order.length - at)));
    found[i] = most;
  });
  return found;
}
function quantile(sorted, share) {
  const at = share * (sorted.length - 1), low = Math.floor(at);
  return sorted[low] + (at - low) * ((sorted[low + 1] ?? sorted[low]) - sorted[low]);
}
