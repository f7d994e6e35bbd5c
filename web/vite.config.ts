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
    // A packet's link loads of these the shared one alone; in one piece each is a third smaller.
    rolldownOptions: {
      output: {
        codeSplitting: {
          includeDependenciesRecursively: false,
          groups: [
            { name: "people", test: /src\/(i18n\/people|views\/(home|send|draft|share|wallet|balance|order-payment|payment|sign-in))\.ts/ },
            // Loaded in WeChat only, and to bind an account of it.
            { name: "wechat", test: /src\/wechat/ },
            { name: "shared", test: /src\/(poll|money|sound|api\/limits|packet\/(speech|cover)|views\/commitments)\.ts/ },
            { name: "words", test: /src\/(i18n\/page|views\/copy)\.ts/ },
            { name: "picture", test: /src\/views\/(qr|card|picture)\.ts|\/uqr\// },
            { name: "verify", test: /src\/verify\/|@noble/ },
            { name: "events", test: /src\/(i18n\/events|views\/(campaign|lottery|rain|sky|scratch|wheel|calendar|catches))\.ts/ },
          ],
        },
      },
    },
  },
});
