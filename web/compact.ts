/** Takes the indentation off templates before they are built: readers of the page don't see it. */

import type { Plugin } from "vite";

export function compact(): Plugin {
  return {
    name: "compact",
    enforce: "pre",
    transform: (code, id) => (/\/src\/.*\.ts$/.test(id) ? code.replace(/\n\s+/g, "\n") : null),
  };
}
