// Rules for the scripts of the package and their tests. Names that do not exist are tsc's to find.

import js from "@eslint/js";

export default [
  { ignores: ["node_modules/", ".venv/", "site/", "build/", "dist/"] },
  js.configs.recommended,
  {
    linterOptions: { reportUnusedDisableDirectives: "error" },
    languageOptions: { ecmaVersion: 2025, sourceType: "module" },
    rules: {
      "no-undef": "off",
      "no-unused-vars": ["error", { caughtErrors: "all" }],
      "no-nested-ternary": "error",
      complexity: ["error", 20],
      eqeqeq: "error",
      "prefer-const": ["error", { destructuring: "all" }],
      "no-var": "error",
      "no-shadow": "error",
      "no-use-before-define": ["error", { functions: false, classes: false, variables: false }],
      "no-implicit-coercion": "error",
      "no-param-reassign": "error",
      "no-else-return": "error",
      "no-throw-literal": "error",
      "object-shorthand": "error",
      "prefer-template": "error",
      "prefer-rest-params": "error",
      "prefer-spread": "error",
      "no-unused-expressions": "error",
      "no-useless-return": "error",
      "no-lonely-if": "error",
      "no-self-compare": "error",
      "no-unmodified-loop-condition": "error",
      "default-case-last": "error",
      "max-depth": ["error", 4],
      "max-params": ["error", 7],
    },
  },
];
