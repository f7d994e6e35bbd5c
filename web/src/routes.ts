/** Paths of the page; links are plain links, so each opens in a new tab too. */

export interface Route {
  view: "home" | "send" | "packet" | "share" | "proof" | "campaign" | "wallet" | "payment" | "lost";
  id: string;
}

const ID = "([A-Za-z0-9_-]{1,128})";
const PATHS: [RegExp, Route["view"]][] = [
  [/^\/$/, "home"],
  [/^\/send$/, "send"],
  [new RegExp(`^/packets/${ID}$`), "packet"],
  [new RegExp(`^/packets/${ID}/share$`), "share"],
  [new RegExp(`^/packets/${ID}/proof$`), "proof"],
  [new RegExp(`^/campaigns/${ID}$`), "campaign"],
  [/^\/wallet$/, "wallet"],
  [new RegExp(`^/payments/${ID}$`), "payment"],
];

export function routeOf(path: string): Route {
  for (const [pattern, view] of PATHS) {
    const match = pattern.exec(path);
    if (match) return { view, id: match[1] ?? "" };
  }
  return { view: "lost", id: "" };
}
