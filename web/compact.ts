/**
 * Takes the indentation off templates before they are built: readers of the page don't see it.
 *
 * Rolldown's advice about slow plugins, which a busy machine provokes, is off.
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
