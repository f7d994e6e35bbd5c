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

test("a replaced path leaves no history entry", () => {
  const count = states.length;

  navigate("/wallet", true);

  assert.equal(states.length, count);
});

test("every path has its view, and an unknown path shows the not-found view", () => {
  const id = "n9C2D0-tuq_Sc61fJ7WGjQuADXuOZhG";
  for (const packet of [id, `${id}~2`, `${id}~64`]) {
    assert.deepEqual(routeOf(`/packets/${packet}`), { view: "packet", id: packet });
    assert.deepEqual(routeOf(`/packets/${packet}/share`), { view: "share", id: packet });
    assert.deepEqual(routeOf(`/packets/${packet}/proof`), { view: "proof", id: packet });
  }
  // Some chat apps escape the tilde.
  for (const tilde of ["%7E", "%7e"]) {
    assert.deepEqual(routeOf(`/packets/${id}${tilde}2/share`), { view: "share", id: `${id}~2` });
  }
  assert.deepEqual(routeOf("/campaigns/new-year_1"), { view: "campaign", id: "new-year_1" });
  assert.deepEqual(routeOf(`/payments/${"0f".repeat(16)}`), { view: "payment", id: "0f".repeat(16) });
  assert.deepEqual(routeOf("/"), { view: "home", id: "" });
  for (const path of ["/packets/", `/packets/${id}/b`, `/packets/${id}~65`, "/packets/a%2fb", "/campaigns/A", "/payments/x"]) {
    assert.equal(routeOf(path).view, "lost", path);
  }
});
