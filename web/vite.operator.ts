/** Builds the operators' console: /operator.html and assets that the users' page does not share. */

import { defineConfig } from "vite";

import { compact } from "./compact.ts";

export default defineConfig({
  plugins: [compact()],
  publicDir: false,
  build: {
    outDir: "dist",
    emptyOutDir: false,
    assetsDir: "assets/operator",
    target: ["es2022", "chrome107", "safari16"],
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rolldownOptions: { input: "operator.html" },
  },
});
