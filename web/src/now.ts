/** The server's clock: a device's own may be hours off. */

/** Bounds of the server's time less the page's age. */
let leastMs = -Infinity;
let mostMs = Infinity;
/** Whether an answer that no cache keeps has set them, to the length of its trip. */
let isSet = false;

/** The server's time, as far as answers told it; until then the device's within their bounds. */
export function now(): number {
  const ageMs = performance.now();
  if (isSet) return Math.round(ageMs + (leastMs + mostMs) / 2);
  // eslint-disable-next-line no-restricted-syntax -- nothing else is known before an answer
  return Math.round(Math.min(Math.max(Date.now(), ageMs + leastMs), ageMs + mostMs));
}

/** A time that the server's has certainly reached. */
export function leastNow(): number {
  return performance.now() + leastMs;
}

/** Learns from the answer to a request that was sent at *askedAtMs* of the page's age. */
export function noteTime({ headers }: Response, askedAtMs: number): void {
  const serverMs = Number(headers.get("X-Now-Ms"));
  if (!serverMs) return;
  const least = serverMs - performance.now();
  // The page's age stood still while the device slept.
  if (least > mostMs) {
    mostMs = Infinity;
    isSet = false;
  }
  leastMs = Math.max(leastMs, least);
  const oldMs = oldestMs(headers);
  const most = serverMs - askedAtMs + oldMs;
  if (most < leastMs) return;
  mostMs = Math.min(mostMs, most);
  isSet ||= oldMs === 0;
}

/** How old an answer may be: a cache's keeps its old time. */
function oldestMs(headers: Headers): number {
  const caching = headers.get("Cache-Control") ?? "";
  const ageS = headers.get("Age");
  if (ageS === null && !caching.includes("public")) return 0;
  const keptS = /max-age=(\d+)/.exec(caching)?.[1] ?? 0;
  // Whole seconds are rounded down.
  return 1000 * (Number(ageS) + Number(keptS) + 1);
}
