/** Lint rules for the page: typescript-eslint's strict rules that use types, and Lit's rules. */

import js from "@eslint/js";
import { configs as lit } from "eslint-plugin-lit";
import { config, configs as ts } from "typescript-eslint";

export default config(
  // Examples show code for other pages, so they don't follow this page's style.
  { ignores: ["dist", "examples", "element", "src/api/schema.ts", "src/api/ids.ts", "src/api/limits.ts", "src/i18n/others"] },
  js.configs.recommended,
  {
    files: ["**/*.ts"],
    extends: [ts.strictTypeChecked, ts.stylisticTypeChecked, lit["flat/recommended"]],
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      "@typescript-eslint/no-shadow": "error",
      "no-self-compare": "error",
      "no-restricted-globals": [
        "error",
        ...["localStorage", "sessionStorage"].map((name) => ({ name, message: "It may be forbidden: use src/store.ts." })),
      ],
      "no-restricted-syntax": [
        "error",
        ...["MemberExpression[object.name=Date][property.name=now]", "NewExpression[callee.name=Date][arguments.length=0]"].map(
          (selector) => ({ selector, message: "A device's clock may be hours off: use `now` of src/now.ts." }),
        ),
      ],
      "lit/no-invalid-escape-sequences": "error",
      "lit/no-legacy-imports": "error",
      "lit/no-native-attributes": "error",
      "lit/no-useless-template-literals": "error",
      "lit/prefer-nothing": "error",
      "lit/quoted-expressions": "error",
      // Handlers are `() => this.doThis()`, as in Lit's own examples.
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      // `noUncheckedIndexedAccess` requires assertions even after a check.
      "@typescript-eslint/no-non-null-assertion": "off",
      // `||` is intended for strings, because an empty string also selects the default.
      "@typescript-eslint/prefer-nullish-coalescing": ["error", { ignorePrimitives: { string: true } }],
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      // Node's test runner awaits `test` calls.
      "@typescript-eslint/no-floating-promises": [
        "error",
        { allowForKnownSafeCalls: [{ from: "package", package: "node:test", name: ["test", "default"] }] },
      ],
    },
  },
);
