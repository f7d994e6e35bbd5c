/** Detects that a reader returns to stale data, with Back or after the page was hidden. */

/** Default milliseconds for which a page must be hidden before its data is reloaded. */
const HIDDEN_MS = 20_000;

/** Calls *listener* whenever the reader returns. Returns a function that ends the calls. */
export function onReturn(listener: () => void, afterMs = HIDDEN_MS): () => void {
  let hiddenAtMs = Infinity;
  const look = () => {
    // eslint-disable-next-line no-restricted-syntax -- a difference, which includes the device's sleep
    const atMs = Date.now();
    if (document.hidden) hiddenAtMs = atMs;
    else if (atMs - hiddenAtMs >= afterMs) arrive();
  };
  const arrive = () => {
    hiddenAtMs = Infinity;
    listener();
  };
  const show = ({ persisted }: PageTransitionEvent) => {
    if (persisted) arrive();
  };
  document.addEventListener("visibilitychange", look);
  addEventListener("pageshow", show);
  return () => {
    document.removeEventListener("visibilitychange", look);
    removeEventListener("pageshow", show);
  };
}
