/** Storage that may be forbidden, full or missing. Items that the browser rejects last until the page unloads. */

/** The part of Storage that this page uses. */
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
      // Even accessing a forbidden storage throws. In some web views it is null.
      return work(globalThis[this.#name]);
    } catch {
      return undefined;
    }
  }
}

/** Storage of this tab, which survives a reload. */
export const tab = new SafeStore("sessionStorage");
/** Storage of this device. */
export const device = new SafeStore("localStorage");
