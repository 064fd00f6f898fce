import { defineConfig } from "vitest/config";

/** What judges a mutant of src/core: the pure tests, with properties that draw the same numbers every time. */
export default defineConfig({
  test: {
    include: ["src/core/**/*.test.ts", "src/policy/*.test.ts", "tests/models/*.test.ts", "tests/store-memory.test.ts"],
    setupFiles: ["tests/mutate-setup.ts"],
  },
});
