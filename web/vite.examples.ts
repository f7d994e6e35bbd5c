/** Bundles the example pages, which embed a packet, the way a host's own bundler would. `make demo-site` serves them. */

import { defineConfig } from "vite";

// Origin of the API, which differs from the host's.
const packets = (process.env.VITE_PACKETS ??= "http://127.0.0.1:8080");

export default defineConfig({
  root: "examples",
  publicDir: false,
  define: { __VUE_OPTIONS_API__: "false", __VUE_PROD_DEVTOOLS__: "false" },
  // In production, the host's own server requests tokens for its users.
  preview: { port: 5173, strictPort: true, proxy: { "/dev/tokens": packets } },
  build: {
    outDir: "../../.local/examples",
    emptyOutDir: true,
    reportCompressedSize: false,
    rolldownOptions: {
      input: ["index", "plain", "react", "vue", "web-view"].map((name) => `examples/${name}.html`),
    },
  },
});
