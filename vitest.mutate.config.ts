import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Examples before properties: most mutants die of an example, and the first death is enough. */
class ExamplesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) =>
      [/\/tests\//, /\/decide\.test|\/rows-of\.test/].findIndex((late) => late.test(moduleId));
    return files.toSorted((left, right) => rank(left) - rank(right));
  }
}

/** What judges a mutant of src/core: the pure tests, with properties that draw the same numbers every time. */
export default defineConfig({
  test: {
    include: ["src/core/**/*.test.ts", "src/policy/*.test.ts", "tests/models/*.test.ts", "tests/store-memory.test.ts"],
    setupFiles: ["tests/mutate-setup.ts"],
    sequence: { sequencer: ExamplesFirst },
  },
});
