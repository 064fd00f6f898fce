// The tests of src/core as functions that can be called repeatedly in one process. Starting a test runner for every
// mutant takes seconds; the tests take milliseconds.
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { format } from "node:util";
import { compileFunction } from "node:vm";

const requireHere = createRequire(import.meta.url);

/** Loads the compiled modules of a folder, and can unload and load them again. */
export class ModuleLoader {
  #loaded = new Map();
  #compiled = new Map();
  #vitest;

  constructor(vitest) {
    this.#vitest = vitest;
  }

  unload() {
    this.#loaded.clear();
  }

  /** Runs a module again at every call; its imports are loaded once. */
  run(path) {
    this.#body(path)({}, (name) => this.#require(name, path));
  }

  #require(name, from) {
    if (name === "vitest") return this.#vitest;
    if (!name.startsWith(".")) return requireHere(name);
    const path = join(dirname(from), name);
    // Registered before it runs, as in Node, for cyclic imports.
    if (!this.#loaded.has(path)) {
      const exports = {};
      this.#loaded.set(path, exports);
      this.#body(path)(exports, (inner) => this.#require(inner, path));
    }
    return this.#loaded.get(path);
  }

  #body(path) {
    const cached = this.#compiled.get(path);
    if (cached !== undefined) return cached;
    const body = compileFunction(readFileSync(path, "utf8"), ["exports", "require"], { filename: path });
    this.#compiled.set(path, body);
    return body;
  }
}

/** The parts of `describe`, `it` and `expect` that the tests of src/core use. */
export class TestCollector {
  #tests = [];
  #path = [];
  #expect;

  static async open() {
    const requireFromVitest = createRequire(requireHere.resolve("vitest/package.json"));
    const load = (name) => import(pathToFileURL(requireFromVitest.resolve(name)).href);
    const [chai, plugins] = [await load("chai"), await load("@vitest/expect")];
    for (const plugin of [plugins.JestExtend, plugins.JestChaiExpect, plugins.JestAsymmetricMatchers]) chai.use(plugin);
    const collector = new TestCollector();
    collector.#expect = chai.expect;
    return collector;
  }

  get vitest() {
    const describe = (title, body) => {
      this.#path.push(title);
      body();
      this.#path.pop();
    };
    const it = (title, ...rest) => {
      const run = rest.find((part) => typeof part === "function");
      this.#tests.push({ name: [...this.#path, title].join(" > "), run });
    };
    return { describe: Object.assign(describe, each(describe)), it: Object.assign(it, each(it)), expect: this.#expect };
  }

  /** Returns the collected tests with unique names. */
  take() {
    const tests = this.#tests;
    const counts = new Map();
    this.#tests = [];
    this.#path = [];
    return tests.map(({ name, run }) => {
      const times = (counts.get(name) ?? 0) + 1;
      counts.set(name, times);
      return { name: times === 1 ? name : `${name} (${times})`, run };
    });
  }
}

function each(register) {
  return {
    each: (rows) => (title, body) => {
      for (const row of rows) {
        const args = Array.isArray(row) ? row : [row];
        register(titleOf(title, args), () => body(...args));
      }
    },
  };
}

function titleOf(title, args) {
  const named = title.replaceAll(/\$(\w+)/g, (whole, field) => String(args[0]?.[field] ?? whole));
  const placeholders = (named.match(/%[sdijo]/g) ?? []).length;
  return format(named.replaceAll("%#", "%%"), ...args.slice(0, placeholders)).slice(0, 200);
}

/** Restricts the tests to files that match WRIT_MUTATE_BY, for a mutant that takes too long with all of them. */
const filePattern = new RegExp(process.env.WRIT_MUTATE_BY ?? "");

/** Sorts examples before properties: most mutants fail an example, and the first failure is enough. */
export function testFiles(folder) {
  const all = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const found = all.filter((name) => name.endsWith(".test.js") && filePattern.test(name));
  const isSlow = (name) => Number(/^tests|\b(?:decide|event-rows)\.test\.js$/.test(name));
  return found.sort((left, right) => isSlow(left) - isSlow(right) || (left < right ? -1 : 1));
}
