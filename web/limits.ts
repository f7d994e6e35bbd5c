/** Generates constants from openapi.json: src/api/{ids,limits}.ts for the page, and the mini-program's refusals. */

import { readFileSync, writeFileSync } from "node:fs";

import { speaking } from "./src/i18n/language.ts";
import { problemText } from "./src/i18n/packet.ts";
import "./src/i18n/problems.ts";
import { amountsFen } from "./src/verify/splits.ts";
import { SPLITS, type Split } from "./src/verify/terms.ts";

interface Whole {
  minimum?: number;
  maximum?: number;
  maxItems?: number;
  pattern?: string;
  anyOf?: Whole[];
}

interface Contract {
  components: {
    schemas: {
      PrizeBody: { properties: { image_url: { anyOf: [{ pattern: string }, unknown] } } };
      SendBody: {
        properties: {
          total_fen: { maximum: number };
          count: { "x-maximum-without-campaign": number };
          cover_url: { anyOf: [{ pattern: string; maxLength: number }, unknown] };
        };
      };
    };
    parameters: Record<string, Parameter>;
    responses: Record<string, { description: string }>;
  };
  paths: Record<string, Record<string, Operation>>;
}

interface Parameter {
  name: string;
  schema: { pattern: string };
}

interface Operation {
  parameters: (Parameter | { $ref: string })[];
  security?: { user: [string] }[];
  responses: Record<string, { $ref?: string }>;
}

interface Problem {
  properties?: { code: { const: string } };
  "x-page-state"?: string;
}

const folder = import.meta.dirname;
const contract = JSON.parse(readFileSync(`${folder}/../openapi.json`, "utf8")) as Contract;
const { total_fen, count, cover_url } = contract.components.schemas.SendBody.properties;
const roles: Record<string, string[]> = {};
for (const [path, operations] of Object.entries(contract.paths)) {
  if (!path.startsWith("/admin/")) continue;
  for (const [method, { security = [] }] of Object.entries(operations)) {
    roles[`${method.toUpperCase()} ${path}`] = security.map(({ user: [scope] }) => scope.replace("hongbao/", ""));
  }
}
const states: Record<string, string> = {};
for (const { properties, "x-page-state": state } of Object.values(contract.components.schemas as object as Record<string, Problem>)) {
  if (state && properties) states[properties.code.const] = state;
}
/** Returns a sample of *split*: 120 yuan in 12 shares from a fixed seed, as bar heights up to 250. */
const picture = (split: Split) =>
  amountsFen({ split, total_fen: 12_000, count: 12, share_fen_min: 1, share_fen_max: 2_500, unit_fen: 1, seed: "picture-of-splits-0412" })
    .map((fen) => Math.round(fen / 10));
const bodies = contract.components.schemas as unknown as Record<string, { properties: Record<string, Whole> }>;
/** Returns the bounds of the integers in *body*, a request body that the console's forms send. */
const boundsOf = (body: string) =>
  Object.entries(bodies[body]!.properties).flatMap(([name, field]) => {
    const { minimum, maximum } = field.anyOf?.[0] ?? field;
    return minimum === undefined || maximum === undefined ? [] : [[name, [minimum, maximum]] as const];
  });
const BOUNDED = ["CampaignBody", "RulesBody", "PrizeBody", "RainBody", "SendBody", "StockBody"];
const constants = {
  BOUNDS: Object.fromEntries(BOUNDED.map((body) => [body, Object.fromEntries(boundsOf(body))])),
  USERS_MAX: bodies.AudienceBody!.properties.add!.maxItems,
  CODES_MAX: bodies.CodesBody!.properties.add!.maxItems,
  HOST_ID: bodies.DepositBody!.properties.user!.pattern,
  PICTURES: Object.fromEntries(SPLITS.map((split) => [split, picture(split)])),
  FEN_MAX: total_fen.maximum,
  COUNT_MAX: count["x-maximum-without-campaign"],
  COVER_PATTERN: cover_url.anyOf[0].pattern,
  PRIZE_IMAGE_PATTERN: contract.components.schemas.PrizeBody.properties.image_url.anyOf[0].pattern,
  ROLES: roles,
  STATES_AFTER: states,
};
write("limits", constants);

/** Returns the pattern of the first id in *route*, without anchors. */
function patternOf(route: string): string {
  const parameters = contract.paths[route]!.get!.parameters.map((each) =>
    "$ref" in each ? contract.components.parameters[each.$ref.split("/").at(-1)!]! : each,
  );
  const name = /\{(\w+)\}/.exec(route)![1];
  return parameters.find((each) => each.name === name)!.schema.pattern.slice(1, -1);
}
// Write these to a separate file, because the first script of a visit needs no other constants.
write("ids", {
  PACKET_ID: patternOf("/packets/{packet_id}"),
  NAMED_PACKET: patternOf("/admin/packets/{packet_id}/claims"),
  CAMPAIGN_ID: patternOf("/campaigns/{campaign_id}"),
  PAYMENT_ID: patternOf("/me/payments/{payment_id}"),
});

function write(file: string, values: Record<string, unknown>): void {
  const lines = Object.entries(values).map(
    ([name, value]) => `export const ${name} = ${JSON.stringify(value)} as const;\n`,
  );
  writeFileSync(`${folder}/src/api/${file}.ts`, `/** Made by \`npm run api\` from openapi.json. */\n\n${lines.join("\n")}`);
}

/** Routes whose refusals examples/miniprogram shows. */
const CALLED = ["/auth/wechat", "/packets", "/packets/{packet_id}", "/packets/{packet_id}/grab", "/packets/{packet_id}/open"];
const codes = new Set(["offline"]);
for (const operation of CALLED.flatMap((path) => Object.values(contract.paths[path] ?? {}))) {
  for (const { $ref = "" } of Object.values(operation.responses)) {
    const { description = "" } = contract.components.responses[$ref.split("/").at(-1) ?? ""] ?? {};
    for (const code of description.match(/(?<=`)\w+(?=`)/g) ?? []) codes.add(code);
  }
}
const refusals = [...codes].sort().map((code) => {
  const words = { text: speaking("zh-CN", () => problemText(code)), state: states[code] };
  return `  ${code}: ${JSON.stringify(words)},\n`;
});
writeFileSync(
  `${folder}/../examples/miniprogram/refusals.js`,
  `/** Made by \`npm run api\` from openapi.json and the page's words. */\n\nmodule.exports = {\n${refusals.join("")}};\n`,
);
