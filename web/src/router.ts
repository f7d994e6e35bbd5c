/** The route of the page, and navigation without a reload. */

const listeners = new Set<() => void>();

export function onNavigate(listener: () => void): void {
  listeners.add(listener);
}

export function navigate(path: string, isReplaced = false): void {
  if (isReplaced) history.replaceState(null, "", path);
  else history.pushState(null, "", path);
  for (const tell of listeners) tell();
}

addEventListener("popstate", () => {
  for (const tell of listeners) tell();
});

document.addEventListener("click", (event) => {
  if (event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey) {
    return;
  }
  const link = event.composedPath().find((one) => one instanceof HTMLAnchorElement);
  if (link?.origin !== location.origin || link.target || link.download) return;
  event.preventDefault();
  navigate(link.pathname + link.search + link.hash);
});

/** Where the reader is, with all that the address says. */
export function here(): string {
  return location.pathname + location.search + location.hash;
}
