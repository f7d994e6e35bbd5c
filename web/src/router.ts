/** The route of the page, and navigation without a reload. */

import { tab } from "./store.ts";

/** Receives the scroll position at the new place: 0 unless the reader returns to it. */
type Listener = (scrollTop: number) => void;

const listeners = new Set<Listener>();

export function onNavigate(listener: Listener): void {
  listeners.add(listener);
}

export function navigate(path: string, isReplaced = false): void {
  if (isReplaced) history.replaceState(null, "", path);
  else {
    history.replaceState({ scrollTop: scrollY }, "");
    history.pushState(null, "", path);
  }
  notify(0);
}

function notify(scrollTop: number): void {
  for (const listener of listeners) listener(scrollTop);
}

// The browser would restore the place before the view is there.
history.scrollRestoration = "manual";

// A state that is replaced while the page unloads is lost.
const SLOT = "redpacket.scroll";
addEventListener("pagehide", () => tab.setItem(SLOT, `${scrollY} ${location.href}`));

/** Scroll position before a reload; 0 after any other arrival. */
export function scrollBeforeReload(): number {
  const [visit] = performance.getEntriesByType("navigation") as PerformanceNavigationTiming[];
  const [top, at] = (tab.getItem(SLOT) ?? "").split(" ");
  return visit?.type === "reload" && at === location.href ? Number(top) : 0;
}

addEventListener("popstate", ({ state }: { state: { scrollTop?: number } | null }) => {
  notify(state?.scrollTop ?? 0);
});

document.addEventListener("click", (event) => {
  if (event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey) {
    return;
  }
  const link = event.composedPath().find((target) => target instanceof HTMLAnchorElement);
  if (link?.origin !== location.origin || link.target || link.download) return;
  event.preventDefault();
  navigate(link.pathname + link.search + link.hash);
});

/** The reader's place, with everything in the address. */
export function here(): string {
  return location.pathname + location.search + location.hash;
}
