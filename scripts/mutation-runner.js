// A test runner for Stryker that stays in its process: a mutant is a switch in code that is already loaded.
import { createRequire } from "node:module";
import { join } from "node:path";
import { Modules, Notebook, testFiles } from "./mutation-tests.js";

const hitLimitReached = "Hit count limit reached";

/** Where the instrumented code looks for its switch, and leaves word of what was reached. */
const switchboard = () => {
  globalThis.__stryker__ ??= {};
  return globalThis.__stryker__;
};

class InProcessRunner {
  #folder;
  #modules;
  #notebook;

  capabilities() {
    return { reloadEnvironment: true };
  }

  async init() {
    // A mutant that lives must live again tomorrow, and one that dies need not be told by the smallest example.
    createRequire(import.meta.url)("fast-check").configureGlobal({ seed: 20, endOnFailure: true });
    process.env.WRIT_MODEL_RUNS ??= "0.06"; // The models tell the same stories, but fewer: thousands of mutants listen.
    this.#folder = join(process.cwd(), "dist-mutate");
    this.#notebook = await Notebook.open();
    this.#modules = new Modules(this.#notebook.vitest);
  }

  async dryRun() {
    const board = switchboard();
    board.mutantCoverage = { static: {}, perTest: {} };
    const tests = [];
    for (const file of testFiles(this.#folder)) tests.push(...(await this.#tried(file)));
    board.currentTestId = undefined;
    return { status: "complete", tests, mutantCoverage: board.mutantCoverage };
  }

  /** Every test of a file, with what each reaches; what the file itself reaches is reached by all of them. */
  async #tried(file) {
    const board = switchboard();
    board.currentTestId = undefined; // What this file is the first to load belongs to nobody.
    this.#collected(file);
    board.currentTestId = `${file} itself`;
    const tests = this.#collected(file);
    const shared = board.mutantCoverage.perTest[board.currentTestId] ?? {};
    delete board.mutantCoverage.perTest[board.currentTestId];
    const results = [];
    for (const { id, run } of tests) {
      board.currentTestId = id;
      const start = performance.now();
      const failure = await failureOf(run);
      const reached = board.mutantCoverage.perTest[id] ?? {};
      for (const [mutant, hits] of Object.entries(shared)) reached[mutant] = (reached[mutant] ?? 0) + hits;
      board.mutantCoverage.perTest[id] = reached;
      const told = failure === null ? { status: "success" } : { status: "failed", failureMessage: failure };
      results.push({ id, name: id, fileName: file, timeSpentMs: performance.now() - start, ...told });
    }
    return results;
  }

  #collected(file) {
    this.#modules.run(join(this.#folder, file));
    return this.#notebook.take().map(({ name, run }) => ({ id: `${file}: ${name}`, run }));
  }

  async mutantRun({ activeMutant, testFilter, hitLimit, mutantActivation }) {
    const board = switchboard();
    const hitCount = hitLimit === undefined ? undefined : 0;
    Object.assign(board, { hitCount, hitLimit, currentTestId: undefined, mutantCoverage: undefined });
    board.activeMutant = activeMutant.id;
    const reloads = mutantActivation === "static";
    if (reloads) this.#modules.forget();
    try {
      return await this.#judged(testFilter);
    } finally {
      board.activeMutant = undefined;
      if (reloads) this.#modules.forget();
    }
  }

  async #judged(testFilter) {
    const wanted = testFilter && new Set(testFilter);
    let nrOfTests = 0;
    for (const file of testFiles(this.#folder)) {
      if (wanted && !testFilter.some((id) => id.startsWith(`${file}: `))) continue;
      let tests = [];
      const broken = await failureOf(() => {
        tests = this.#collected(file);
      });
      this.#notebook.take();
      if (broken !== null) return verdict(broken, `${file}: it cannot even be read`, nrOfTests + 1);
      for (const { id, run } of tests) {
        if (wanted && !wanted.has(id)) continue;
        nrOfTests += 1;
        const failure = await failureOf(run);
        if (failure !== null) return verdict(failure, id, nrOfTests);
      }
    }
    return { status: "survived", nrOfTests };
  }

  async dispose() {}
}

function verdict(failure, id, nrOfTests) {
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
