/** Writes src/api/limits.ts: the bounds, roles and page states of openapi.json that the page needs at run time. */

import { readFileSync, writeFileSync } from "node:fs";

interface Contract {
  components: {
    schemas: {
      SendBody: {
        properties: {
          total_fen: { maximum: number };
          count: { "x-maximum-without-campaign": number };
          cover_url: { anyOf: [{ pattern: string; maxLength: number }, unknown] };
        };
      };
    };
  };
  paths: Record<string, Record<string, { security?: { user: [string] }[] }>>;
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
const constants = {
  FEN_MAX: total_fen.maximum,
  COUNT_MAX: count["x-maximum-without-campaign"],
  COVER_PATTERN: cover_url.anyOf[0].pattern,
  ROLES: roles,
  STATES_AFTER: states,
};
const lines = Object.entries(constants).map(
  ([name, value]) => `export const ${name} = ${JSON.stringify(value)} as const;\n`,
);
writeFileSync(`${folder}/src/api/limits.ts`, `/** Made by \`npm run api\` from openapi.json. */\n\n${lines.join("\n")}`);
