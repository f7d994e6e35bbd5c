/** The server's clock, because a device's clock may be hours off. */

/** Bounds of the server's time minus the page's age (performance.now). */
let leastMs = -Infinity;
let mostMs = Infinity;
/** Whether an uncached answer has set the bounds, which then differ by at most its round-trip time. */
let isSet = false;

/** Returns the server's time. Until an uncached answer arrives, it is the device's time, clamped to the bounds. */
export function now(): number {
  const ageMs = performance.now();
  if (isSet) return Math.round(ageMs + (leastMs + mostMs) / 2);
  // eslint-disable-next-line no-restricted-syntax -- nothing else is known before an answer
  return Math.round(Math.min(Math.max(Date.now(), ageMs + leastMs), ageMs + mostMs));
}

/** Returns a time that the server's clock has certainly reached. */
export function leastNow(): number {
  return performance.now() + leastMs;
}

/** Narrows the bounds with an answer. *askedAtMs* is the page's age when the request was sent. */
export function noteTime({ headers }: Response, askedAtMs: number): void {
  const serverMs = Number(headers.get("X-Now-Ms"));
  if (!serverMs) return;
  const least = serverMs - performance.now();
  // The bounds contradict each other, because the page's age did not advance while the device slept.
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

/** Returns the maximum age of an answer in ms. A cached answer carries the time at which it was created. */
function oldestMs(headers: Headers): number {
  const caching = headers.get("Cache-Control") ?? "";
  const ageS = headers.get("Age");
  if (ageS === null && !caching.includes("public")) return 0;
  const keptS = /max-age=(\d+)/.exec(caching)?.[1] ?? 0;
  // Add a second, because the headers' seconds are rounded down.
  return 1000 * (Number(ageS) + Number(keptS) + 1);
}
