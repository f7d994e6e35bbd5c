/** The element for other pages: everything in the one file /red-packet.js. */

import { defineConfig } from "vite";

import { compact } from "./compact.ts";

export default defineConfig({
  plugins: [compact()],
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
      output: { entryFileNames: "red-packet.js" },
    },
  },
});
