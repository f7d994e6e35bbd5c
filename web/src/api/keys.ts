/** Writes in progress. They survive a reload, so a retry sends the same key and body. */

import type { Store } from "../store.ts";

export interface Pending<Body> {
  key: string;
  body: Body;
  /** User who started the write. Another user in the same tab must not send it. */
  user: string;
}

export class PendingWrites {
  readonly #store: Store;
  /** Copy in memory, because the storage may be cleared while the page is open. */
  readonly #memory = new Map<string, string>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** Returns *user*'s write in progress named *name*, if any. */
  find<Body>(name: string, user: string): Pending<Body> | undefined {
    const text = this.#memory.get(name) ?? this.#store.getItem(slot(name));
    if (!text) return undefined;
    try {
      const pending = JSON.parse(text) as Pending<Body>;
      return pending.user === user ? pending : undefined;
    } catch {
      return undefined;
    }
  }

  /** Stores *body* before it is sent. A retry with the same body gets the same key. */
  begin<Body>(name: string, user: string, body: Body): Pending<Body> {
    const existing = this.find<Body>(name, user);
    if (existing && JSON.stringify(existing.body) === JSON.stringify(body)) return existing;
    const pending = { key: newKey(), body, user };
    const text = JSON.stringify(pending);
    this.#memory.set(name, text);
    this.#store.setItem(slot(name), text);
    return pending;
  }

  /** Deletes the write once its outcome is certain. */
  end(name: string): void {
    this.#memory.delete(name);
    this.#store.removeItem(slot(name));
  }
}

/** Returns 128 random bits. `crypto.randomUUID` is missing on pages without TLS. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function slot(name: string): string {
  return `redpacket.pending.${name}`;
}
