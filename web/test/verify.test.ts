import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { chainCommitment, choose, drawPoint } from "../src/verify/draws.ts";
import type { Schemas } from "../src/api/client.ts";
import { verifyPacket } from "../src/verify/packet.ts";
import { amountsFen, root } from "../src/verify/splits.ts";
import { commitmentOf, Impossible, type Terms } from "../src/verify/terms.ts";

interface Vectors {
  packets: { terms: Terms; commitment: string; amounts_fen: number[] }[];
  draws: (Record<"campaign_id" | "day" | "seed" | "commitment" | "user_token" | "odds", string> & {
    n: number;
    point: number;
    prize_id: string | null;
  })[];
}

const file = new URL("../../tests/vectors/fairness.json", import.meta.url);
const vectors = JSON.parse(readFileSync(file, "utf-8")) as Vectors;

for (const { terms, commitment, amounts_fen } of vectors.packets) {
  test(`${terms.split} of ${terms.total_fen}/${terms.count} splits as in Python`, () => {
    assert.equal(commitmentOf(terms), commitment);
    assert.deepEqual(amountsFen(terms), amounts_fen);
  });
}

test("draws have the same results as in Python", () => {
  for (const draw of vectors.draws) {
    const { seed, campaign_id, day, user_token, n, odds } = draw;
    assert.equal(chainCommitment(seed, campaign_id, day), draw.commitment);
    assert.equal(drawPoint(seed, campaign_id, user_token, n), draw.point);
    assert.equal(choose(odds, draw.point), draw.prize_id);
  }
});

test("unparsable odds select nothing", () => {
  for (const odds of ["", "a:1", "a:x|1", "A:1|1", "a:1,|1"]) assert.equal(choose(odds, 0), undefined);
});

test("terms that no packet can have are rejected", () => {
  const terms = vectors.packets[2]!.terms;
  const wrong: Partial<Terms>[] = [
    { total_fen: 4 },
    { total_fen: 10.5 },
    { share_fen_max: 100 },
    { unit_fen: 3 },
    { seed: "short" },
    { split: "equal", total_fen: 1001 },
  ];
  for (const part of wrong) assert.throws(() => amountsFen({ ...terms, ...part }), Impossible);
});

test("the square root of 64-bit numbers is exact at the edges", () => {
  for (const one of [1n, 2n, 3n, 65535n, 4294967295n, 3037000499n]) {
    for (const square of [one * one, one * one + 2n * one]) assert.equal(root(square), one);
  }
  assert.equal(root(0n), 0n);
});

test("a packet is verified only if its proof yields every shown amount", () => {
  const { terms, commitment, amounts_fen } = vectors.packets.at(-1)!;
  const proof = { ...terms, algorithm: terms.split, commitment } as unknown as Schemas["Proof"];
  const stateOf = (amount_fen: number | null, said = amounts_fen, noted = commitment) =>
    verifyPacket(proof, said, [{ share_no: 1, amount_fen, user_token: "ann" }], noted).state;
  assert.equal(stateOf(amounts_fen[0]!), "true");
  assert.equal(stateOf(null), "partly");
  assert.equal(stateOf(amounts_fen[0]! + 1), "false");
  assert.equal(stateOf(null, amounts_fen.slice(1)), "false");
  assert.equal(stateOf(null, amounts_fen, "another"), "false");
});

test("a share with two owners and a user with two shares are differences", () => {
  const { terms, commitment, amounts_fen } = vectors.packets.at(-1)!;
  const proof = { ...terms, algorithm: terms.split, commitment } as unknown as Schemas["Proof"];
  const stateOf = (...owners: [number, string][]) =>
    verifyPacket(
      proof,
      amounts_fen,
      owners.map(([share_no, user_token]) => ({ share_no, user_token, amount_fen: amounts_fen[share_no - 1]! })),
    ).state;
  assert.equal(stateOf([1, "ann"], [2, "bob"]), "true");
  assert.equal(stateOf([1, "ann"], [1, "ann"]), "true");
  assert.equal(stateOf([1, "ann"], [1, "bob"]), "false");
  assert.equal(stateOf([1, "ann"], [2, "ann"]), "false");
});
