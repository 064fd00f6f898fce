// The tests of the law, as functions that can be called again and again in one process. Starting a test runner for every
// mutant takes seconds; the tests that notice one take milliseconds.
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { format } from "node:util";
import { compileFunction } from "node:vm";

const outside = createRequire(import.meta.url);

/** The compiled modules below a folder, which can be forgotten and loaded again. */
export class Modules {
  #loaded = new Map();
  #compiled = new Map();
  #vitest;

  constructor(vitest) {
    this.#vitest = vitest;
  }

  forget() {
    this.#loaded.clear();
  }

  /** Runs a module's body, every time; what it requires is loaded once. */
  run(path) {
    this.#body(path)({}, (name) => this.#require(name, path));
  }

  #require(name, from) {
    if (name === "vitest") return this.#vitest;
    if (!name.startsWith(".")) return outside(name);
    const path = join(dirname(from), name);
    // Put there before it runs, as Node does.
    if (!this.#loaded.has(path)) {
      const exports = {};
      this.#loaded.set(path, exports);
      this.#body(path)(exports, (inner) => this.#require(inner, path));
    }
    return this.#loaded.get(path);
  }

  #body(path) {
    const known = this.#compiled.get(path);
    if (known !== undefined) return known;
    const body = compileFunction(readFileSync(path, "utf8"), ["exports", "require"], { filename: path });
    this.#compiled.set(path, body);
    return body;
  }
}

/** `describe`, `it` and `expect`, as far as the tests of the law use them. */
export class Notebook {
  #tests = [];
  #path = [];
  #expect;

  static async open() {
    const beside = createRequire(outside.resolve("vitest/package.json"));
    const load = (name) => import(pathToFileURL(beside.resolve(name)).href);
    const [chai, plugins] = [await load("chai"), await load("@vitest/expect")];
    for (const plugin of [plugins.JestExtend, plugins.JestChaiExpect, plugins.JestAsymmetricMatchers]) chai.use(plugin);
    const notebook = new Notebook();
    notebook.#expect = chai.expect;
    return notebook;
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

  /** What a file has written down, each under a name of its own. */
  take() {
    const tests = this.#tests;
    const seen = new Map();
    this.#tests = [];
    this.#path = [];
    return tests.map(({ name, run }) => {
      const times = (seen.get(name) ?? 0) + 1;
      seen.set(name, times);
      return { name: times === 1 ? name : `${name} (${times})`, run };
    });
  }
}

function each(write) {
  return {
    each: (rows) => (title, body) => {
      for (const row of rows) {
        const args = Array.isArray(row) ? row : [row];
        write(titleOf(title, args), () => body(...args));
      }
    },
  };
}

function titleOf(title, args) {
  const named = title.replaceAll(/\$(\w+)/g, (whole, field) => String(args[0]?.[field] ?? whole));
  const wanted = (named.match(/%[sdijo]/g) ?? []).length;
  return format(named.replaceAll("%#", "%%"), ...args.slice(0, wanted)).slice(0, 200);
}

/** Only these are asked, where someone said so: who survives everything else has been asked by too many to wait for. */
const asked = new RegExp(process.env.WRIT_MUTATE_BY ?? "");

/** Examples before properties: most mutants die of an example, and the first death is enough. */
export function testFiles(folder) {
  const all = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const found = all.filter((name) => name.endsWith(".test.js") && asked.test(name));
  const late = (name) => Number(/^tests|\b(?:decide|rows-of)\.test\.js$/.test(name));
  return found.sort((left, right) => late(left) - late(right) || (left < right ? -1 : 1));
}
