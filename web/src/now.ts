/** The server's clock: a device's own may be hours off. */

/** Bounds of the server's time less the page's age. */
let leastMs = -Infinity;
let mostMs = Infinity;

/** The server's time, as far as answers told it; the device's before the first one. */
export function now(): number {
  const ageMs = performance.now();
  // eslint-disable-next-line no-restricted-syntax -- nothing else is known before an answer
  if (mostMs === Infinity) return Math.max(Date.now(), Math.round(ageMs + leastMs));
  return Math.round(ageMs + (leastMs + mostMs) / 2);
}

/** Learns from the answer to a request that was sent at *askedAtMs* of the page's age. */
export function noteTime({ headers }: Response, askedAtMs: number): void {
  const serverMs = Number(headers.get("X-Now-Ms"));
  if (!serverMs) return;
  const least = serverMs - performance.now();
  // The page's age stood still while the device slept.
  if (least > mostMs) mostMs = Infinity;
  leastMs = Math.max(leastMs, least);
  // A cache's answer may be old: the server's time is at least what it says.
  const isKept = headers.has("Age") || headers.get("Cache-Control")?.includes("public");
  const most = serverMs - askedAtMs;
  if (!isKept && most >= leastMs) mostMs = Math.min(mostMs, most);
}
