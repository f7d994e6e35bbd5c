/** The mini-program of examples/ in a simulator of its component model. */

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { join } from "node:path";

import { Window } from "happy-dom";

export const ROOT = join(import.meta.dirname, "..", "..", "examples", "miniprogram");
const window = new Window();
Object.assign(globalThis, { window, document: window.document });
for (const name of ["Event", "CustomEvent", "Element", "HTMLElement", "MutationObserver", "Node"] as const) {
  Object.assign(globalThis, { [name]: window[name] });
}

export interface Shown {
  data: Record<string, unknown>;
  instance: Record<string, (given?: unknown) => unknown>;
  dom: { textContent: string };
  attach(parent: unknown): void;
  detach(): void;
  querySelector(selector: string): Shown | undefined;
  querySelectorAll(selector: string): Shown[];
  dispatchEvent(name: string, options?: object): void;
  addEventListener(name: string, listener: (event: { detail: unknown }) => void): void;
}
interface Simulator {
  load(path: string, options?: object): string;
  render(id: string, properties?: object): Shown;
}

/** One request of a mini-program. */
export interface WxRequest {
  url: string;
  method: string;
  header: Record<string, string>;
  data?: Record<string, unknown>;
  success: (answer: { statusCode: number; data: unknown; header?: Record<string, string> }) => void;
  fail: () => void;
}

export const require = createRequire(import.meta.url);
const simulate = require("miniprogram-simulate") as Simulator;
let rendered: Shown[] = [];

/** Renders a page or component of the mini-program with *wx* as WeChat's API. */
export function render(wx: object, path: string, properties?: object): Shown {
  const id = simulate.load(join(ROOT, path), { rootPath: ROOT, less: false });
  Object.assign(globalThis, { wx });
  const shown = simulate.render(id, properties);
  shown.attach(document.createElement("div"));
  rendered.push(shown);
  return shown;
}

export async function until(is: () => boolean, what: string, timeoutMs = 8_000): Promise<void> {
  for (let waitedMs = 0; waitedMs < timeoutMs; waitedMs += 20) {
    if (is()) return;
    await new Promise((done) => setTimeout(done, 20));
  }
  assert.fail(`never: ${what}`);
}

/** Closes all pages. */
export function leave(): void {
  for (const shown of rendered) shown.detach();
  rendered = [];
}

/** Unloads the mini-program's modules, as when WeChat starts it again. */
export function restart(): void {
  for (const name of Object.keys(require.cache)) {
    if (name.includes(join("examples", "miniprogram"))) Reflect.deleteProperty(require.cache, name);
  }
}

export const close = (): Promise<void> => window.happyDOM.close();
