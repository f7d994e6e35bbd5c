/** The page: /index.html and hashed assets, for the API's own origin. */

import { defineConfig } from "vite";

import { compact } from "./compact.ts";

export default defineConfig({
  plugins: [compact()],
  build: {
    outDir: "dist",
    target: ["es2022", "chrome107", "safari16"],
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
});
