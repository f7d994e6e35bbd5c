import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";

import type { RedPacket as Declared, RedPacketEvents } from "../element/index.d.ts";
import type { PacketEvents, RedPacket } from "../src/packet/red-packet.ts";

/** Type check: true if the package declares the element's properties correctly. */
export const isDeclared: RedPacket extends Pick<Declared, Exclude<keyof Declared, keyof HTMLElement>> ? true : false =
  true;
export const areDeclared: PacketEvents extends Omit<RedPacketEvents, "signin"> ? true : false = true;

const CONSUMER = `
import { RedPacket } from "@redpacket/element";
import type {} from "@redpacket/element/react";
import type {} from "@redpacket/element/vue";
import type { GlobalComponents } from "vue";

export const view = (
  <red-packet packet-id="x" size="small" token="t" onclaimed={({ detail }) => detail.amount_fen.toFixed()} />
);
// @ts-expect-error there is no such size
export const huge = <red-packet packet-id="x" size="huge" />;

type Props = InstanceType<GlobalComponents["red-packet"]>["$props"];
export const props: Props = { "packet-id": "x", onRefused: ({ detail }) => detail.code.trim() };
// @ts-expect-error there is no packet
export const none: Props = {};

document.querySelector("red-packet")?.addEventListener("claimed", ({ detail }) => detail.share_no.toFixed());
new RedPacket().token = "t";
`;

test("the packed package has the built file, and types for React and Vue", (context) => {
  // Install the package inside node_modules, so that TypeScript finds React's and Vue's types.
  const folder = mkdtempSync("node_modules/.consumer-");
  context.after(() => rmSync(folder, { recursive: true }));
  const packed = execFileSync("npm", ["pack", "--json", "--pack-destination", join("..", folder)], {
    cwd: "element",
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [{ filename, files }] = JSON.parse(packed) as [{ filename: string; files: { path: string }[] }];
  const place = join(folder, "node_modules", "@redpacket", "element");
  mkdirSync(place, { recursive: true });
  execFileSync("tar", ["-xzf", join(folder, filename), "--strip-components=1", "-C", place]);
  writeFileSync(join(folder, "consumer.tsx"), CONSUMER);
  const options = "--noEmit --strict --target es2022 --module esnext --moduleResolution bundler --jsx react-jsx";
  const run = spawnSync(
    process.execPath,
    ["node_modules/typescript/bin/tsc", ...options.split(" "), join(folder, "consumer.tsx")],
    { encoding: "utf8" },
  );

  assert.deepEqual(files.map(({ path }) => path).sort(), [
    ...["README.md", "index.d.ts", "package.json", "react.d.ts", "red-packet.js", "red-packet.zh-TW.js", "vue.d.ts"],
  ]);
  assert.equal(run.stdout, "");
  assert.equal(readFileSync(join(place, "red-packet.js"), "utf8"), readFileSync("dist/red-packet.js", "utf8"));
});
