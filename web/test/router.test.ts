import assert from "node:assert/strict";
import test from "node:test";

const states: unknown[] = [null];
const heard: Record<string, (event: object) => void> = {};
const history = {
  scrollRestoration: "auto",
  pushState: (state: unknown) => states.push(state),
  replaceState: (state: unknown) => (states[states.length - 1] = state),
};
Object.assign(globalThis, {
  history,
  scrollY: 0,
  document: { addEventListener: () => undefined },
  addEventListener: (name: string, listener: (event: object) => void) => (heard[name] = listener),
});
const { navigate, onNavigate } = await import("../src/router.ts");
const { routeOf } = await import("../src/routes.ts");

test("a link starts at the top, and Back returns to where the reader was", () => {
  const positions: number[] = [];
  onNavigate((scrollTop) => positions.push(scrollTop));
  Object.assign(globalThis, { scrollY: 640 });

  navigate("/packets/p");
  heard.popstate!({ state: states[0] });

  assert.deepEqual(positions, [0, 640]);
  assert.equal(history.scrollRestoration, "manual");
});

test("a path that is replaced leaves no entry", () => {
  const count = states.length;

  navigate("/wallet", true);

  assert.equal(states.length, count);
});

test("every path has its view, and an unknown one is lost", () => {
  assert.deepEqual(routeOf("/packets/p_1-a"), { view: "packet", id: "p_1-a" });
  assert.deepEqual(routeOf("/packets/p/share"), { view: "share", id: "p" });
  assert.deepEqual(routeOf("/"), { view: "home", id: "" });
  for (const path of ["/packets/", "/packets/a/b", "/packets/a%2fb", `/packets/${"x".repeat(129)}`]) {
    assert.equal(routeOf(path).view, "lost", path);
  }
});
