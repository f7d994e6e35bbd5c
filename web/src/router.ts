/** Current path of the page, and navigation without a reload. */

import { tab } from "./store.ts";

/** Receives the scroll position for the new path: 0 unless the reader returns to it. */
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

// The browser would restore the scroll position before the view has rendered.
history.scrollRestoration = "manual";

// Use storage, because a history state that is replaced during unload is lost.
const SLOT = "redpacket.scroll";
addEventListener("pagehide", () => tab.setItem(SLOT, `${scrollY} ${location.href}`));

/** Returns the scroll position before a reload, or 0 for any other kind of page load. */
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

/** Returns the current path with its query and fragment. */
export function here(): string {
  return location.pathname + location.search + location.hash;
}
