import assert from "node:assert/strict";
import test from "node:test";

import { PendingWrites } from "../src/api/keys.ts";
import { device, tab } from "../src/store.ts";

/** Broken storages, keyed by name. */
const HOSTILE: Record<string, PropertyDescriptor> = {
  "null, as in a web view without DOM storage": { value: null },
  missing: { value: undefined },
  "one that throws when it is named": {
    get() {
      throw new DOMException("Access is denied for this document", "SecurityError");
    },
  },
  "one that is full": {
    value: {
      getItem: () => null,
      setItem() {
        throw new DOMException("full", "QuotaExceededError");
      },
      removeItem: () => undefined,
    },
  },
  "one that keeps nothing, and says nothing": {
    value: { getItem: () => null, setItem: () => undefined, removeItem: () => undefined },
  },
};

function install(storage: PropertyDescriptor): void {
  for (const name of ["sessionStorage", "localStorage"]) {
    Object.defineProperty(globalThis, name, { configurable: true, ...storage });
  }
}

function memory(): Storage {
  const kept = new Map<string, string>();
  return {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
    removeItem: (key: string) => void kept.delete(key),
  } as unknown as Storage;
}

for (const [what, storage] of Object.entries(HOSTILE)) {
  test(`with ${what}, items live as long as the page`, () => {
    install(storage);
    for (const store of [tab, device]) {
      assert.equal(store.getItem("a"), null);
      assert.equal(store.keep("a", "1"), false);
      assert.equal(store.getItem("a"), "1");
      store.removeItem("a");
      assert.equal(store.getItem("a"), null);
    }
  });

  test(`with ${what}, a repeat of a write keeps its key`, () => {
    install(storage);
    const writes = new PendingWrites(tab);
    const body = { total_fen: 1000 };

    const { key } = writes.begin("send", "ann", body);

    assert.equal(writes.begin("send", "ann", body).key, key);
    writes.end("send");
    assert.notEqual(writes.begin("send", "ann", body).key, key);
    writes.end("send");
  });
}

test("a working storage is read again, so that another tab's items are seen", () => {
  const storage = memory();
  install({ value: storage });

  assert.equal(device.keep("a", "1"), true);
  storage.setItem("a", "2");

  assert.equal(device.getItem("a"), "2");
});

test("a pending write survives the clearing of the storage while the page is open", () => {
  install({ value: memory() });
  const writes = new PendingWrites(tab);
  const { key } = writes.begin("send", "ann", {});

  install({ value: memory() });

  assert.equal(writes.begin("send", "ann", {}).key, key);
});
