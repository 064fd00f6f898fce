import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { stories } from "../crash/commands.ts";
import { scenarios } from "../crash/scenarios.ts";
import { partNames } from "../crash/wanted.ts";
import { expressionLimits } from "../src/core/expression.ts";
import { faults } from "../src/core/fault.ts";
import { valueLimits } from "../src/core/json/check-json.ts";
import { planLimits } from "../src/core/plan/plan.ts";
import { askingLimits } from "../src/engine/asking-limits.ts";
import { failpoints } from "../src/engine/failpoint.ts";
import { defaultLimits } from "../src/engine/ports.ts";
import { fileLimits } from "../src/resources/file-limits.ts";
import { schemaLimits } from "../src/schema/schema-limits.ts";
import { pattern, toldIn } from "./code-blocks.ts";
import { rooms } from "./rooms.ts";

const root = join(import.meta.dirname, "..");
const read = (path: string) => readFileSync(join(root, path), "utf8");
const pages = ["README.md", "ARCHITECTURE.md", "GLOSSARY.md", "CONTRIBUTING.md", "CHANGELOG.md", ...markdownIn("docs")];

function markdownIn(folder: string): readonly string[] {
  const found = readdirSync(join(root, folder), { recursive: true, encoding: "utf8" });
  return found.filter((name) => name.endsWith(".md")).map((name) => join(folder, name));
}

describe("docs/errors.md", () => {
  it("has a heading for every fault, with what the table says of it", async () => {
    await expect(errorsPage()).toMatchFileSnapshot("../docs/errors.md");
  });
});

function errorsPage(): string {
  const sections = Object.entries(faults).map(([code, row]) => {
    const { tries, baseMs, capMs } = row as { tries: number; baseMs?: number; capMs?: number };
    const again =
      tries === 1
        ? "Not tried again by itself."
        : `Tried ${tries} times in all, waiting up to ${baseMs} ms, doubling, at most ${capMs} ms, with full jitter.`;
    return `## ${code}\n\n${sentence(row.about)} ${again} Exit code ${row.exit}.\n`;
  });
  const head =
    "# Faults\n\nEvery way something can go wrong. A fault is data: `{ code, message, detail? }`; its message says what, to which, and what now.\nAn act is only tried again when its tool has said that nothing happened.\n";
  return [head, ...sections].join("\n");
}

function sentence(text: string): string {
  return `${text[0]?.toUpperCase()}${text.slice(1)}.`;
}

describe("docs/limits.md", () => {
  it("has every limit with its value", async () => {
    await expect(limitsPage()).toMatchFileSnapshot("../docs/limits.md");
  });
});

function limitsPage(): string {
  const plan = section(planLimits, {
    steps: "steps of a plan",
    bytes: "bytes of a plan, as JSON",
    depth: "levels of a plan, and of the place a binding goes to",
    nodes: "values in a plan",
    idLength: "characters of an id",
    dependencies: "dependencies between the steps of a plan",
    templateLength: "characters of an idempotency template",
    timeoutMs: "milliseconds a call may be given",
    waitMs: "milliseconds a step may wait",
    retries: "retries a step may ask for",
  });
  const asked = section(askingLimits, {
    list: "entries of a list that are asked for at once, 50 if nobody says; `after` asks for the next",
    reason: "characters of a reason",
    haltReason: "characters of the reason of a halt, which has at least one",
    halts: "halts that stand at once for a tenant, each over a run, or over all of it (`LIMIT_EXCEEDED`)",
    amount: "of a cost or a limit, in its unit (`CONFIG_INVALID`, `TOOL_INVALID`, or `TOOL_FAILED`)",
  });
  const values = section(valueLimits, {
    bytes: "bytes of one input or output, as JSON",
    depth: "levels of it",
    nodes: "values in it",
  });
  const expression = section(expressionLimits, {
    length: "characters of an expression",
    nodes: "parts of it",
    depth: "levels of it",
    list: "values it may list",
    arguments: "arguments of a call in it",
    pattern: "instructions that a pattern in it becomes",
    fuel: "steps that an answer may take: one for each part and each entry that is looked at, one for 64 characters of a text, more where a pattern is matched",
  });
  const schema = section(schemaLimits, {
    bytes: "bytes of a JSON Schema",
    depth: "levels of it",
    nodes: "values in it",
    patternLength: "characters of a pattern in it, which repeats nothing that varies",
    patternSteps:
      "steps through a text that is too long for a pattern to go back and forth in; beyond them the value is refused",
    steps:
      "steps that judging a value may take: one for each schema that is asked about a value, more for long texts, names and lists; beyond them it is refused",
    stepsEach: "further ones for each value inside it",
  });
  const engine = section(defaultLimits, {
    concurrency: "handlers running at once in one process; more wait for their turn",
    outputBytes: "bytes of an output, as JSON; of a run that a step asks for, of what it has to show",
    gateMs: "milliseconds a gate waits for a decision; then it expires (`GATE_EXPIRED`)",
    useWithinMs: "milliseconds a decided approval is good for; then the gate opens anew",
    errandsPerStep: "errands one step may leave",
    noticesPerStep: "notices one step may leave",
    noticeMs: "milliseconds `onNotice` may take for one; then it is tried again, and the next goes out",
    takeovers:
      "workers that may take a run, one after the other, from one that never gave it back, with nothing to show; then it is parked as `poison`",
    childDepth: "runs that may be above one that a step asks for",
    checkpoints:
      "versions of a project's state that can be gone back to, 1000 at most; older ones are `CHECKPOINT_NOT_FOUND`",
    checkpointBytes:
      "bytes of changes, as JSON, that are gone back over; beyond them, too, a version is `CHECKPOINT_NOT_FOUND`",
    snapshotVersions:
      "versions of a project's state after which they are kept in one piece, so that a worker that comes cold reads about so many events and not one for each version",
  });
  const files = section(fileLimits, {
    fileBytes: "bytes of a file that is read or written at once",
    streamBytes: "bytes that are written to one file piece by piece",
    captureBytes:
      "bytes of one file that is kept to be put back; in a tree with raw access a larger one is `RESOURCE_UNFIT`",
    pathSegments: "names in a path",
    segmentBytes: "bytes of a name in a path",
    listEntries: "entries of a directory that is listed",
    globMatches: "files that a pattern may match",
    grepMatches: "lines that a text may be found in",
    grepBytes: "bytes that are read to find a text",
    treeEntries: "entries of a tree that is captured for raw access, or looked through by `glob` and `grep`",
    keptCaptures: "calls that can be gone back to; nothing is refused beyond them, the oldest are forgotten",
    keptBytes: "bytes that are kept to go back to calls; nothing is refused beyond them either",
  });
  return [
    "# Limits\n",
    "Everything that can grow has a limit. Tries, waits between them and what is retried: [the faults](errors.md).\n",
    "## Of a plan\n\nBeyond them it is refused with `PLAN_INVALID`, and the reason names the limit. They are the same everywhere.\n",
    plan,
    "## Of a value\n\nBeyond them a call is rejected or failed with `LIMIT_EXCEEDED`. They are the same everywhere.\n",
    values,
    "## Of an expression\n\nBeyond them it cannot be read, or has no answer, and what asks it refuses. They are the same everywhere.\n",
    expression,
    "## Of a JSON Schema\n\nBeyond them it is refused with `SCHEMA_UNUSABLE` when it is declared, or a value when it is judged. They are the same everywhere.\n",
    schema,
    "## Of an engine\n\nSet with `createEngine({ limits })`. Unless said otherwise, beyond them a step fails with `LIMIT_EXCEEDED`.\n",
    engine,
    "## Of what is asked\n\nBeyond them it is refused with `INVALID_INPUT`, unless said otherwise. They are the same everywhere.\n",
    asked,
    "## Of files\n\nSet with `new MemoryFilesystem({ limits })` and `new HostFilesystem({ limits })`. Unless said otherwise, beyond them a call is refused with `LIMIT_EXCEEDED`, which names the limit.\n",
    files,
  ].join("\n");
}

/** One row for each limit there is; one that nobody has described stands there without words. */
function section(limits: object, about: Readonly<Record<string, string>>): string {
  const rows = Object.entries(limits).map(([name, most]) => `| \`${name}\` | ${most} | ${about[name]} |`);
  expect(Object.keys(about)).toEqual(Object.keys(limits));
  return ["| limit | at most | of what |", "|---|---|---|", ...rows, ""].join("\n");
}

describe("ARCHITECTURE.md", () => {
  it("shows the rooms as the architecture test enforces them", () => {
    const rows = sectionOf("The rooms").filter((line) => line.startsWith("| `"));
    const expected = rooms.map(
      ({ name, about, rooms: reach }) =>
        `| \`${name}\` | ${about} | ${reach.map((room) => `\`${room}\``).join(", ") || "nothing"} |`,
    );
    expect(rows).toEqual(expected);
  });

  it("names every corner of the two largest rooms", () => {
    const named = sectionOf("Corners").flatMap((line) => line.match(/`\w+\/\w+`(?=[^|]*\|[^|]*\|$)/g) ?? []);
    const corners = ["core", "engine"].flatMap((room) =>
      readdirSync(join(root, `src/${room}`), { withFileTypes: true })
        .filter((entry) => entry.isDirectory())
        .map(({ name }) => `\`${room}/${name}\``),
    );
    expect(named.sort()).toEqual(corners.sort());
  });

  it("stays within 300 lines", () => {
    expect(read("ARCHITECTURE.md").split("\n").length).toBeLessThanOrEqual(300);
  });
});

describe("GLOSSARY.md", () => {
  it("has a line for every noun that core exports, and for nothing that is gone", () => {
    const defined = [...read("GLOSSARY.md").matchAll(/`([A-Z]\w+)`/g)].map(([, name]) => name);
    expect([...new Set(defined)].sort()).toEqual([...nounsOfCore()].sort());
  });
});

function sectionOf(heading: string): readonly string[] {
  const lines = read("ARCHITECTURE.md").split("\n");
  const from = lines.indexOf(`## ${heading}`) + 1;
  const length = lines.slice(from).findIndex((line) => line.startsWith("## "));
  return lines.slice(from, from + length);
}

function nounsOfCore(): ReadonlySet<string> {
  const files = readdirSync(join(root, "src/core"), { recursive: true, encoding: "utf8" });
  const sources = files
    .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"))
    .map((name) => read(join("src/core", name)));
  return new Set(
    sources.flatMap((text) =>
      [...text.matchAll(/^export (?:interface|type|class) (\w+)/gm)].map(([, name]) => name as string),
    ),
  );
}

describe("docs/guarantees.md", () => {
  const page = read("docs/guarantees.md");
  const kept = [...page.matchAll(/`([^`]+\.ts)`: "([^"]+)"/g)].map(([, file, title]) => [
    title as string,
    file as string,
  ]);

  it.each(kept)("names a test that exists: %s", (title, file) => {
    expect(read(file)).toContain(`"${title}"`);
  });

  it("names a test for every promise", () => {
    const promises = page.split("\n").filter((line) => /^\| [A-Z]/.test(line));
    expect(promises).toHaveLength(kept.length);
  });

  it("has the ten laws, each with a promise that follows from it", () => {
    const [, ...laws] = page.slice(0, page.indexOf("## Not promised")).split(/^### /m);
    expect(laws.map((law) => Number.parseInt(law, 10))).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(laws.filter((law) => !/^\| [A-Z]/m.test(law))).toEqual([]);
  });
});

describe("docs/crash.md", () => {
  const text = read("docs/crash.md");
  const tableAfter = (heading: string) =>
    [...(text.split(`## ${heading}\n`)[1]?.split("\n## ")[0] ?? "").matchAll(/^\| `([\w.]+)` \| ([^|]+)/gm)].map(
      ([, name, about]) => [name as string, (about as string).trim()] as const,
    );

  it("has a line for every failpoint of the source, in its order", () => {
    expect(tableAfter("The failpoints").map(([name]) => name)).toEqual([...failpoints]);
  });

  it("tells of every story, as the story does", () => {
    const told = Object.entries(scenarios).map(([name, { about }]) => [name, about]);
    expect(tableAfter("The stories")).toEqual(told);
  });

  it("tells of every way to die, and of every story of the command line", () => {
    expect(tableAfter("The ways to die").map(([name]) => name)).toEqual([...partNames]);
    for (const name of Object.keys(stories))
      expect(text).toMatch(new RegExp(`^The stories of .process.:.*\`${name}\``, "m"));
  });
});

describe("the pages", () => {
  it.each(pages)("%s links only to what exists", (page) => {
    const links = [...read(page).matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, target]) => target as string);
    const missing = links.filter((target) => !existsSync(join(root, dirname(page), target)));
    expect(missing).toEqual([]);
  });

  it.each(pages)("%s links only to headings that exist", (page) => {
    const links = [...read(page).matchAll(/\]\((?!https?:)([^)#]*)#([^)]+)\)/g)];
    const missing = links.filter(([, target, anchor]) => !anchorsOf(target || basename(page), page).has(anchor ?? ""));
    expect(missing.map(([link]) => link)).toEqual([]);
  });

  it("would catch a heading that is not there", () => {
    expect(anchorsOf("../cli.md", "docs/guides/first-tool.md").has("writ-crashtest-tool")).toBe(true);
    expect(anchorsOf("../cli.md", "docs/guides/first-tool.md").has("writ-crashtest")).toBe(false);
  });

  it.each(pages)("%s names only source files that exist", (page) => {
    const named = [...read(page).matchAll(/`((?:src|tests|docs|bench|sim|crash|chaos|scripts)\/[\w./-]+)`/g)].map(
      ([, path]) => path as string,
    );
    const rooms = [
      ...read(page).matchAll(/`?((?:core|engine|policy|store|schema|cli|verifiers)\/[\w./-]+\.ts)`?/g),
    ].map(([, path]) => `src/${path}`);
    expect([...named, ...rooms].filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });
});

/** The names by which the headings of a page can be linked to. */
function anchorsOf(target: string, from: string): ReadonlySet<string> {
  const headings = read(join(dirname(from), target)).matchAll(/^#+ (.+)$/gm);
  return new Set(Array.from(headings, ([, text = ""]) => anchorOf(text)));
}

const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");

describe("the guides", () => {
  it.each(markdownIn("docs/guides"))("%s says what each of its programs prints", (page) => {
    const told = toldIn(read(page));
    expect(told.length).toBeGreaterThan(0);
    expect(told.filter((block) => block.kind === "program" && block.prints.length === 0)).toEqual([]);
  });

  it.each([
    ["a block without a language", "```\nhello\n```"],
    ["a program without a name", "```js\nconsole.log(1);\n```"],
    ["a language nobody runs", "```ts\n// a.mjs: types\n```"],
    ["words that nothing prints", "```text\nhello\n```"],
  ])("may not have %s, which nobody would run", (_, page) => {
    expect(() => toldIn(`${page}\n`)).toThrow();
  });

  it("are held to what they say is printed, but for what they leave out", () => {
    expect("run_1 ended\na\nb\nlast\n").toMatch(pattern("run_… ended\n…\nlast\n"));
    expect("run_1 ended\nlast\n").not.toMatch(pattern("run_… ended\nlast but one\n"));
    expect("first\nlast\n").not.toMatch(pattern("last\n"));
    expect("a+b\n").not.toMatch(pattern("aab\n"));
    expect("run_\n").not.toMatch(pattern("run_…\n"));
  });
});

describe("the decisions", () => {
  it("are numbered without a gap or a number given twice, and say their number", () => {
    const names = readdirSync(join(root, "docs", "adr")).toSorted();
    const said = names.map((name) => /^# (\d+)\. /.exec(read(`docs/adr/${name}`))?.[1]);
    expect(names.map((name) => Number(name.slice(0, 4)))).toEqual(names.map((_, index) => index + 1));
    expect(said.map(Number)).toEqual(names.map((_, index) => index + 1));
  });
});
