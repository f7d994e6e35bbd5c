/**
 * Strips the indentation of HTML templates before the build, because browsers don't show it.
 *
 * Rolldown's warning about slow plugins is off, because a busy machine triggers it.
 */

import type { Plugin } from "vite";

export function compact(): Plugin {
  return {
    name: "compact",
    enforce: "pre",
    config: () => ({ build: { rolldownOptions: { checks: { bundlerTimings: false } } } }),
    transform: (code, id) => (/\/src\/.*\.ts$/.test(id) ? code.replace(/\n\s+/g, "\n") : null),
  };
}
