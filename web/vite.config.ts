/** Builds the page: /index.html and hashed assets, served from the API's own origin. */

import { defineConfig, type Plugin } from "vite";

import { compact } from "./compact.ts";

/** Preloads the app together with the first script, which would otherwise request it only when it runs. */
function preloadApp(): Plugin {
  return {
    name: "preload-app",
    transformIndexHtml: {
      order: "post",
      handler: (_html, { bundle = {} }) => {
        const app = Object.values(bundle).find((file) => file.type === "chunk" && file.name === "app");
        if (app?.type !== "chunk") return;
        return [app.fileName, ...app.imports].map((fileName) => ({
          tag: "link",
          injectTo: "head",
          attrs: { rel: "modulepreload", crossorigin: true, href: `/${fileName}` },
        }));
      },
    },
  };
}

export default defineConfig({
  plugins: [compact(), preloadApp()],
  build: {
    outDir: "dist",
    target: ["es2022", "chrome107", "safari16"],
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // A visit to a packet's link loads the first two groups.
    // Bundling each group into one file makes it a third smaller.
    rolldownOptions: {
      output: {
        codeSplitting: {
          includeDependenciesRecursively: false,
          groups: [
            { name: "begin", test: /src\/(main|begin|paths|routes|session|config|claims|now|oidc|store|providers\/(registry|host|\w+\/(provider|config|words))|api\/(client|ids|keys|problems))\.ts|vite\/preload/ },
            { name: "app", test: /src\/(app|router|poll|returned|money|sound|graphemes|api\/limits|packet\/|i18n\/(frame|language|choice|packet|problems|others\/index)|views\/(view|fields|packet-view|commitments))|\/(lit|lit-html|lit-element|@lit)\// },
            { name: "people", test: /src\/(providers\/say|i18n\/people|views\/(home|send|draft|share|wallet|balance|confirm|money|order-payment|payment|sign-in))\.ts/ },
            // The page loads a provider's chunk only in the provider's app and to link an account.
            { debugName: "provider", name: (path) => /src\/providers\/(\w+)\//.exec(path)?.[1], test: /src\/providers\/\w+\// },
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
