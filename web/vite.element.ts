/**
 * Builds the element for other pages: the single file /red-packet.js, a versioned copy, and the npm package.
 *
 * Texts of other languages are in separate files, which load on demand.
 */

import { copyFileSync, readdirSync } from "node:fs";

import { defineConfig } from "vite";

import { compact } from "./compact.ts";
import element from "./element/package.json" with { type: "json" };

const BUILT = "dist/red-packet.js";

export default defineConfig({
  plugins: [
    compact(),
    {
      name: "copies",
      closeBundle: () => {
        copyFileSync(BUILT, `dist/red-packet@${element.version}.js`);
        for (const file of readdirSync("dist").filter((name) => /^red-packet(\.[\w-]+)?\.js$/.test(name))) {
          copyFileSync(`dist/${file}`, `element/${file}`);
        }
      },
    },
  ],
  publicDir: false,
  build: {
    outDir: "dist",
    emptyOutDir: false,
    target: ["es2022", "chrome107", "safari16"],
    modulePreload: false,
    reportCompressedSize: false,
    rolldownOptions: {
      input: "src/packet/red-packet.ts",
      preserveEntrySignatures: "strict",
      output: { entryFileNames: "red-packet.js", chunkFileNames: "red-packet.[name].js" },
    },
  },
});
