// A test runner for Stryker that runs in its own process: a mutant is a switch in code that is already loaded.
import { createRequire } from "node:module";
import { join } from "node:path";
import { ModuleLoader, TestCollector, testFiles } from "./mutation-tests.js";

const hitLimitReached = "Hit count limit reached";

/** Returns the object in which the instrumented code reads its switch and records its coverage. */
const strykerState = () => {
  globalThis.__stryker__ ??= {};
  return globalThis.__stryker__;
};

class InProcessRunner {
  #folder;
  #modules;
  #collector;

  capabilities() {
    return { reloadEnvironment: true };
  }

  async init() {
    // A fixed seed, so that a surviving mutant survives again; no shrinking of counterexamples.
    createRequire(import.meta.url)("fast-check").configureGlobal({ seed: 20, endOnFailure: true });
    process.env.WRIT_MODEL_RUNS ??= "0.06"; // Fewer random scenarios, because there are thousands of mutants.
    this.#folder = join(process.cwd(), "dist-mutate");
    this.#collector = await TestCollector.open();
    this.#modules = new ModuleLoader(this.#collector.vitest);
  }

  async dryRun() {
    const state = strykerState();
    state.mutantCoverage = { static: {}, perTest: {} };
    const tests = [];
    for (const file of testFiles(this.#folder)) tests.push(...(await this.#runFile(file)));
    state.currentTestId = undefined;
    return { status: "complete", tests, mutantCoverage: state.mutantCoverage };
  }

  /** Runs every test of a file and records its coverage; the coverage of the file itself counts for all its tests. */
  async #runFile(file) {
    const state = strykerState();
    state.currentTestId = undefined; // The first load of a module counts for no test.
    this.#collect(file);
    state.currentTestId = `${file} itself`;
    const tests = this.#collect(file);
    const shared = state.mutantCoverage.perTest[state.currentTestId] ?? {};
    delete state.mutantCoverage.perTest[state.currentTestId];
    const results = [];
    for (const { id, run } of tests) {
      state.currentTestId = id;
      const start = performance.now();
      const failure = await failureOf(run);
      const reached = state.mutantCoverage.perTest[id] ?? {};
      for (const [mutant, hits] of Object.entries(shared)) reached[mutant] = (reached[mutant] ?? 0) + hits;
      state.mutantCoverage.perTest[id] = reached;
      const outcome = failure === null ? { status: "success" } : { status: "failed", failureMessage: failure };
      results.push({ id, name: id, fileName: file, timeSpentMs: performance.now() - start, ...outcome });
    }
    return results;
  }

  #collect(file) {
    this.#modules.run(join(this.#folder, file));
    return this.#collector.take().map(({ name, run }) => ({ id: `${file}: ${name}`, run }));
  }

  async mutantRun({ activeMutant, testFilter, hitLimit, mutantActivation }) {
    const state = strykerState();
    const hitCount = hitLimit === undefined ? undefined : 0;
    Object.assign(state, { hitCount, hitLimit, currentTestId: undefined, mutantCoverage: undefined });
    state.activeMutant = activeMutant.id;
    const isStatic = mutantActivation === "static";
    if (isStatic) this.#modules.unload();
    try {
      return await this.#runTests(testFilter);
    } finally {
      state.activeMutant = undefined;
      if (isStatic) this.#modules.unload();
    }
  }

  async #runTests(testFilter) {
    const selected = testFilter && new Set(testFilter);
    let nrOfTests = 0;
    for (const file of testFiles(this.#folder)) {
      if (selected && !testFilter.some((id) => id.startsWith(`${file}: `))) continue;
      let tests = [];
      const loadFailure = await failureOf(() => {
        tests = this.#collect(file);
      });
      this.#collector.take();
      if (loadFailure !== null) return toMutantResult(loadFailure, `${file}: it cannot be loaded`, nrOfTests + 1);
      for (const { id, run } of tests) {
        if (selected && !selected.has(id)) continue;
        nrOfTests += 1;
        const failure = await failureOf(run);
        if (failure !== null) return toMutantResult(failure, id, nrOfTests);
      }
    }
    return { status: "survived", nrOfTests };
  }

  async dispose() {}
}

function toMutantResult(failure, id, nrOfTests) {
  if (failure.includes(hitLimitReached)) return { status: "timeout", reason: failure };
  return { status: "killed", killedBy: [id], failureMessage: failure, nrOfTests };
}

async function failureOf(run) {
  try {
    await run();
    return null;
  } catch (error) {
    return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  }
}

export const strykerPlugins = [{ kind: "TestRunner", name: "in-process", injectableClass: InProcessRunner }];
