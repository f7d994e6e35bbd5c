/** The example pages of the element, as their own bundlers would build them. */

import { defineConfig } from "vite";

export default defineConfig({
  root: "examples",
  base: "/examples/",
  publicDir: false,
  define: { __VUE_OPTIONS_API__: "false", __VUE_PROD_DEVTOOLS__: "false" },
  build: {
    outDir: "../../.local/examples",
    emptyOutDir: true,
    reportCompressedSize: false,
    rolldownOptions: {
      external: ["/red-packet.js"],
      input: ["examples/plain.html", "examples/react.html", "examples/vue.html"],
    },
  },
});
