/** Storage that may be forbidden, full or missing: what a browser doesn't keep lives as long as the page. */

/** The part of Storage that is used. */
export type Store = Pick<Storage, "getItem" | "setItem" | "removeItem">;

class SafeStore implements Store {
  readonly #name: "localStorage" | "sessionStorage";
  readonly #memory = new Map<string, string>();

  constructor(name: "localStorage" | "sessionStorage") {
    this.#name = name;
  }

  getItem(key: string): string | null {
    return this.#memory.get(key) ?? this.#attempt((storage) => storage.getItem(key)) ?? null;
  }

  setItem(key: string, value: string): void {
    this.keep(key, value);
  }

  /** Sets an item, and returns whether it persists after this page. */
  keep(key: string, value: string): boolean {
    const isKept = this.#attempt((storage) => {
      storage.setItem(key, value);
      return storage.getItem(key) === value;
    });
    if (isKept) this.#memory.delete(key);
    else this.#memory.set(key, value);
    return isKept === true;
  }

  removeItem(key: string): void {
    this.#memory.delete(key);
    this.#attempt((storage) => storage.removeItem(key));
  }

  #attempt<Made>(work: (storage: Storage) => Made): Made | undefined {
    try {
      // Even reading the name of a forbidden storage throws; in some web views it is null.
      return work(globalThis[this.#name]);
    } catch {
      return undefined;
    }
  }
}

/** For this tab, also after a reload. */
export const tab = new SafeStore("sessionStorage");
/** For this device. */
export const device = new SafeStore("localStorage");
