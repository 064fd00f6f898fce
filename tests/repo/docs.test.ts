import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { allFailpoints } from "../../crash/all-failpoints.ts";
import { cliScenarios } from "../../crash/cli-scenarios.ts";
import { partNames } from "../../crash/part-selector.ts";
import { scenarios } from "../../crash/scenarios.ts";
import { exitCodeOfFault } from "../../src/cli/exit-code.ts";
import { valueLimits } from "../../src/core/json/check-json.ts";
import { forEachLimits } from "../../src/core/plan/for-each.ts";
import { planLimits } from "../../src/core/plan/plan.ts";
import { expressionLimits } from "../../src/core/ports/expression.ts";
import { replanContextLimits } from "../../src/core/run/replan-context.ts";
import { waitTimes } from "../../src/core/time/wait-times.ts";
import { toolDefaults } from "../../src/core/tool/tool-defaults.ts";
import { type FaultCode, faults } from "../../src/core/values/fault.ts";
import { erasurePiece } from "../../src/engine/admin/retention/erase-in-pieces.ts";
import { defaultLimits } from "../../src/engine/api/engine-limits.ts";
import { modelRequestLimits } from "../../src/engine/api/model-request-limits.ts";
import { replanLimits } from "../../src/engine/api/replan-options.ts";
import { requestLimits } from "../../src/engine/api/request-limits.ts";
import { fileLimits } from "../../src/resources/file-limits.ts";
import { checkedFormats } from "../../src/schema/validator/scalar-keywords.ts";
import { schemaLimits } from "../../src/schema/validator/schema-limits.ts";
import { schemaRefusals } from "../../src/schema/validator/schema-refusals.ts";
import { httpLimits } from "../../src/server/http-limits.ts";
import { sqliteWaitTimes } from "../../src/store/sqlite/sqlite-wait-times.ts";
import { documentedCommands, outputPattern } from "./documented-commands.ts";
import { layerRules, moduleRules } from "./module-rules.ts";
import { repositoryPath } from "./repository-path.ts";

const read = (path: string) => readFileSync(repositoryPath(path), "utf8");
const pages = ["README.md", "ARCHITECTURE.md", "GLOSSARY.md", "CONTRIBUTING.md", "CHANGELOG.md", ...markdownIn("docs")];

function markdownIn(folder: string): readonly string[] {
  const found = readdirSync(repositoryPath(folder), { recursive: true, encoding: "utf8" });
  return found.filter((name) => name.endsWith(".md")).map((name) => join(folder, name));
}

describe("docs/errors.md", () => {
  it("has a heading for every fault with the text of the fault table", async () => {
    await expect(errorsPage()).toMatchFileSnapshot(repositoryPath("docs/errors.md"));
  });
});

function errorsPage(): string {
  const sections = Object.entries(faults).map(([code, row]) => {
    const { tries, baseMs, capMs } = row as { tries: number; baseMs?: number; capMs?: number };
    const again =
      tries === 1
        ? "Not tried again by itself."
        : `Tried ${tries} times in all, waiting up to ${baseMs} ms, doubling, at most ${capMs} ms, with full jitter.`;
    return `## ${code}\n\n${wrapped(`${sentence(row.about)} ${again} Exit code ${exitCodeOfFault(code as FaultCode)}.`)}\n`;
  });
  const head = [
    "# Faults\n",
    wrapped(
      "Every way in which a call or a request can fail. A fault is data: `{ code, message, detail? }`. The message says what failed, for which step, tool or run, and what to do. An act is retried only after its tool has reported that nothing happened. A run whose step failed for good ends as `failed` or `partial` with `final: true`: fix the cause, then resume it, or submit its request again with `retryFailed`.",
    ),
    "",
  ].join("\n");
  return [head, ...sections].join("\n");
}

/** Breaks a paragraph into lines of at most 118 characters. */
function wrapped(paragraph: string): string {
  return paragraph.replaceAll(/(?=\S)(.{1,118})(?: |$)/g, "$1\n").trimEnd();
}

function sentence(text: string): string {
  return `${text[0]?.toUpperCase()}${text.slice(1)}.`;
}

describe("docs/limits.md", () => {
  it("has every limit with its value", async () => {
    await expect(limitsPage()).toMatchFileSnapshot(repositoryPath("docs/limits.md"));
  });
});

function limitsPage(): string {
  const plan = section(planLimits, {
    steps: "steps of a plan",
    bytes: "bytes of a plan as JSON",
    depth: "nesting levels of a plan, and of the target of a binding",
    nodes: "values in a plan",
    idLength: "characters of an id",
    dependencies: "dependencies between the steps of a plan",
    boundOutcomes: "outcomes of earlier runs that a plan is bound to",
    templateLength: "characters of an idempotency template",
    timeoutMs: "milliseconds of the timeout of a call, and of `forMs` of `beginCall`",
    waitMs: "milliseconds of a wait step",
    retries: "retries of a step",
    expectedEffects: "expected effects of a step",
  });
  const lists = section(forEachLimits, {
    items: "items that a step of kind `for_each` may permit with `most`",
    usualItems: "items of such a step without `most`",
  });
  const replans = section(replanLimits, {
    attempts: "questions to the replanner of a run (`replan.attempts`); the default is 1",
    delayMs: "milliseconds before a question (`replan.delayMs`); the default is 0",
    fallbacks: "fallback plans of a submission; `planAndExecute` runs one plan more",
  });
  const reports = section(replanContextLimits, {
    value: "bytes of an input or output in the report to a replanner; a larger one is left out",
    values: "bytes of all of them; the ones that follow are left out",
    entries: "entries of each of its lists; the number of what is left out is `omitted`",
  });
  const asked = section(requestLimits, {
    list: "entries returned by one list request; the default is 50, and `after` returns the next page",
    tools: "tools of an engine (`LIMIT_EXCEEDED`)",
    counted: "rows that a list counts",
    activityRuns: "runs that `tools.activity` reads; the default is 100",
    activityEvents: "events after which `tools.activity` reads no further run",
    spendingDays: "days of one `spentByDay`",
    tallies: "tallies of a unit that `spentByDay` reads",
    samples: "calls that one `policies.test` judges",
    policyVersions: "versions that one `policies.history` returns; the default is 50",
    title: "characters of the title of a run",
    labels: "labels of a run",
    label: "characters of a label",
    reason: "characters of a reason",
    haltReason: "characters of the reason of a halt, which must not be empty",
    halts: "halts in force at the same time for a tenant, on runs or on the whole tenant (`LIMIT_EXCEEDED`)",
    amount: "units of a cost or a limit (`CONFIG_INVALID`, `TOOL_INVALID` or `TOOL_FAILED`)",
    refusedInput: "bytes of the input of a refused call that is recorded whole; a larger one by its digest and size",
    refusedReasons: "reasons in the record of a refused request; the fault lists more",
    refusedMessage: "characters of the message in that record",
  });
  const values = section(valueLimits, {
    bytes: "bytes of one input or output as JSON",
    depth: "nesting levels of the value",
    nodes: "values inside it",
  });
  const models = section(modelRequestLimits, {
    requestBytes: "bytes of one request to a model as JSON",
    requestNodes: "values inside it",
    messages: "messages of one request",
    lanes: "lanes of one open run",
  });
  const expression = section(expressionLimits, {
    length: "characters of an expression",
    nodes: "syntax nodes of an expression",
    depth: "nesting levels of an expression",
    list: "elements of a list literal",
    arguments: "arguments of a function call",
    pattern: "instructions of a compiled pattern",
    fuel: "steps of one evaluation: one per syntax node and list element, one per 64 characters of text, more for a pattern match",
  });
  const schema = section(schemaLimits, {
    bytes: "bytes of a JSON Schema",
    depth: "nesting levels of a schema",
    nodes: "values in a schema",
    schemas: "schemas in a schema, including itself",
    patternLength: "characters of a pattern, which must not repeat a part of variable length",
    patternSteps: "steps of a pattern match on a long text; a value that needs more is refused",
    steps:
      "steps of one validation: one per schema applied to a value, more for long texts, names and lists; a value that needs more is refused",
    stepsEach: "additional steps per value inside the validated value",
  });
  const engine = section(defaultLimits, {
    concurrency: "handlers that run at the same time in one process; further calls wait",
    outputBytes: "bytes of an output as JSON; for a child run, bytes of all reported outputs",
    gateMs: "milliseconds until an undecided gate expires (`GATE_EXPIRED`)",
    useWithinMs: "milliseconds for which an approval is valid; then the gate opens again",
    refusalsPerHour:
      "refused plans, calls, methods and decisions about gates of one principal that are recorded in an hour of UTC; a further one is answered with `LIMIT_EXCEEDED` and the reasons, and is not recorded",
    errandsPerStep: "errands of one step",
    noticesPerStep: "notices of one step",
    changesPerStep: "changes that one step records",
    noticeMs:
      "milliseconds of one `onNotice` call; then the delivery is retried later and the next notice is delivered",
    takeovers: "takeovers of a run from dead workers in a row without progress; then the run is parked as `poison`",
    callsPerTurn: "calls that an agent proposes together",
    proposalsPerMinute: "calls that one handle of a session proposes in a minute",
    segmentSteps:
      "steps of one run of a session; then the next run of the session takes the calls. While calls are unfinished, a run has up to 10000 steps",
    segmentBytes: "bytes of the journal of one run of a session; then the next run of the session takes the calls",
    childDepth: "levels of child runs",
    checkpoints:
      "versions of a project's state that can be restored, at most 1000; an older version is `CHECKPOINT_NOT_FOUND`",
    checkpointBytes: "bytes of changes as JSON that a restore reads; a version further back is `CHECKPOINT_NOT_FOUND`",
    snapshotVersions:
      "versions of a project's state between two snapshots; a worker that loads the state reads about this many events",
  });
  const files = section(fileLimits, {
    fileBytes: "bytes of a file that is read or written in one call",
    streamBytes: "bytes written to one file as a stream",
    captureBytes: "bytes of one captured file; in a tree with raw access, a larger file is `RESOURCE_UNFIT`",
    pathSegments: "segments of a path",
    segmentBytes: "bytes of one path segment",
    listEntries: "entries of a listed directory",
    globMatches: "files that match a glob pattern",
    grepMatches: "lines that match a search",
    grepBytes: "bytes that a search reads",
    treeEntries: "entries of a tree that is captured for raw access, or searched by `glob` and `grep`",
    snapshotBytes: "bytes of the files of a snapshot with contents",
    keptCaptures: "calls that can be restored; above it nothing is refused and the oldest captures are dropped",
    keptBytes: "bytes of retained captures; above it nothing is refused and the oldest captures are dropped",
  });
  const waits = section(
    waitTimes,
    {
      appendResendMs: "before an append is sent again, after its answer was lost",
      outcomeRetryMs: "before the outcome of a call is appended again, after the store failed",
      noticeRetryMinMs: "after the first failed delivery of a notice; the pause doubles with each further failure",
      noticeRetryMaxMs: "longest pause between two deliveries of a notice",
      stepPollMinMs:
        "shortest pause until a waiting step checks the key or the halt again; the pause grows with the time waited",
      keyPollMaxMs: "longest pause between two checks of a key that another call uses",
      haltPollMaxMs: "longest pause between two checks of a halt whose lifting wakes the run",
      sharedHaltPollMaxMs: "longest pause between two checks of a halt of all tenants, whose lifting wakes no run",
      actResendMinMs: "shortest pause before an act in doubt is sent again; the pause grows with the time passed",
      actResendMaxMs: "longest pause before an act in doubt is sent again",
      senderPollMaxMs: "longest pause between two looks at an act in doubt whose worker may still run it",
      sweepMs: "average time between two searches for due runs; a notification starts a search at once",
      changesMs: "shortest time between two looks of `engine.changes` for changed runs",
      changesTogetherMs: "time in which further writes join the one that `engine.changes` looks for",
      haltCacheMs: "age up to which a call without an append of its own relies on the halts that were last read",
      recordedCallHaltCacheMs: "age up to which a recorded call relies on the halts that were last read",
      policyCacheMs:
        "age up to which a call relies on the policies that were last read; the start of an act checks their row",
      resourcePollMs: "pause between two attempts to get a resource that another call uses",
      logTruncationMs: "time that a retention tries to empty the log before it reports that the log is pending",
      logTruncationPauseMs: "pause between two of these attempts",
      logTruncationRetryMs: "pause between two attempts in the background",
      retentionContinueMs: "time after which a worker continues a retention whose process may have ended",
      maintenanceMs: "time that a retention or a backup waits for another one to end before it is refused",
      maintenancePauseMs: "pause between two attempts to begin it",
    },
    "| wait | milliseconds | use |",
  );
  const tools = section(
    toolDefaults,
    {
      timeoutMs: "milliseconds until a call is aborted (`timeoutMs`): `TOOL_TIMEOUT`, and an act is in doubt",
      modelTimeoutMs:
        'the same for a tool with `asks: "model"`, whose timeout is not retried because each attempt is paid for',
      verbTimeoutMs: "the same for a method that a policy has held, such as `retain`, after its approval",
      settleAfter: "milliseconds after its timeout in which an act can still take effect (`settleAfter`)",
      triesOfAnyError: 'attempts in all after an error that `retry: "any"` covers (`tries`)',
    },
    "| default | value | of |",
  );
  const http = section(httpLimits, {
    bodyBytes: "bytes of a body",
    loginBodyBytes: "bytes of the body of a login",
    modelBodyBytes: "bytes of a request to a model",
    bodyDepth: "nesting levels of a body",
    bodyValues: "values in a body",
    headerBytes: "bytes of all headers; more is answered with 431",
    urlBytes: "bytes of the address; more is answered with 414",
    headersMs: "milliseconds until the headers have arrived; then the connection is closed with 408",
    requestMs: "milliseconds until the whole request has arrived; then the connection is closed with 408",
    idleMs: "milliseconds that a connection may be idle between two requests",
    connections: "open connections",
    principalRequests: "requests in progress of one principal, streams included; more are answered with 429",
    heldBodyBytes: "bytes of all bodies in progress; more are answered with 429",
    waitMs: "milliseconds that a request waits for a run; then it is answered with 202",
    sessions: "open sessions that a server keeps; the oldest is opened again when it is used",
    streamRuns: "runs of one stream",
    streamPingMs: "milliseconds between two comments on an idle stream",
    streamCheckMs: "milliseconds between two checks of the credential of a stream",
    streamStallMs: "milliseconds after which a client that reads nothing loses its stream, or a large answer",
    failedLogins: "wrong credentials of one address",
    failedLoginsMs: "milliseconds in which they are counted; more wrong ones are answered with 429",
    linkMs: "milliseconds that a login link is valid",
    browserSessionMs: "milliseconds that a browser stays logged in",
    eventsPage: "events of one page",
  });
  const processes = section(
    sqliteWaitTimes,
    {
      lookMs: "between two looks of a worker at the other workers",
      stallMs: "after which a worker that is alive but stands still loses its runs",
      busyMs: "after which a write that waits for other processes fails with `STORE_FAILED`",
      firstPauseMs: "longest pause before the second attempt to write while another process writes",
      busyPauseMs: "longest pause between two later attempts to write",
      hurryAfterMs: "after which a write that waits for other processes tries more often",
      hurryPauseMs: "longest pause between two attempts of such a write",
      pollMs: "between two looks for writes of other processes",
      waitingPollMs: "the same while a caller waits for a change",
      openingMs: "after which opening a file that another process creates or migrates fails with `STORE_BUSY`",
      otherVersionMs: "after which opening a file that processes of another version use fails with `STORE_BUSY`",
      openingPauseMs: "longest pause between two attempts to open the file",
    },
    "| wait | milliseconds | use |",
  );
  return [
    "# Limits\n",
    "Everything that can grow has a limit. [errors.md](errors.md) lists the retries of each fault and the waits between them.\n",
    "## Plan limits\n\nA plan that exceeds one is refused with `PLAN_INVALID`, and the reason names the limit. They are not configurable.\n",
    plan,
    "## Limits of lists\n\nA step of kind `for_each` with more items is refused with `LIMIT_EXCEEDED` before its first call.\n",
    lists,
    "## Limits of replanning\n\nA submission that exceeds one is refused with `INVALID_INPUT`. They are not configurable.\n",
    replans,
    reports,
    '## Value limits\n\nA call whose input or output exceeds one is rejected or fails with `LIMIT_EXCEEDED`; the output of a tool without an\noutput schema is `{ "omitted": … }` then. They are not configurable.\n',
    values,
    "## Model call limits\n\nA request that exceeds one is refused with `LIMIT_EXCEEDED` before the model is asked. They are not configurable. The\nanswer of a model is an output, with the limits of values.\n",
    models,
    "## Expression limits\n\nAn expression that exceeds one is refused when it is read, or has no value, which refuses the call. They are not\nconfigurable.\n",
    expression,
    "## JSON Schema limits\n\nA schema that exceeds one is refused with `SCHEMA_UNUSABLE` when it is declared; a value that exceeds one is refused\nwhen it is validated. They are not configurable.\n",
    schema,
    schemaSupport(),
    "## Tool defaults\n\nThe settings of a tool whose definition does not set them (`defineTool`).\n",
    tools,
    "## Engine limits\n\nSet with `createEngine({ limits })`. Unless the table says otherwise, a step that exceeds one fails with\n`LIMIT_EXCEEDED`.\n",
    engine,
    "## Request limits\n\nUnless the table says otherwise, a request that exceeds one is refused with `INVALID_INPUT`. They are not configurable.\n",
    asked,
    "## HTTP limits\n\nA body that exceeds one is refused with `LIMIT_EXCEEDED` (413). They are not configurable.\n",
    http,
    "## File limits\n\nSet with `new MemoryFilesystem({ limits })` and `new HostFilesystem({ limits })`. Unless the table says otherwise, a\ncall that exceeds one is refused with `LIMIT_EXCEEDED`, and the message names the limit.\n",
    files,
    "## Wait times\n\nHow long the engine waits before it tries or looks again. They are not configurable.\n",
    waits,
    `## Processes on one SQLite file\n\nA retention erases at most ${erasurePiece.bodies} bodies and ${erasurePiece.blobs} blobs in one transaction, because other processes wait for it.\n`,
    "How long processes wait for each other. They are not configurable.\n",
    processes,
  ].join("\n");
}

/** The part of the page that lists what Writ refuses of JSON Schema, and where it differs. */
function schemaSupport(): string {
  const about: Readonly<Record<keyof typeof schemaRefusals, string>> = {
    otherDraft: "a `$schema` of another draft, or with a vocabulary of its own",
    remoteReference: "a `$ref` or `$dynamicRef` to another document, including the metaschemas",
    recursiveReference: "`$recursiveRef`",
    innerId: 'an `$id` inside the schema; in draft-07, `$id: "#name"` is allowed',
    asynchrony: "`$async`",
    exponentialPattern: "a pattern with a repeated group that can match in several ways",
    prototypeName: "a member named `__proto__`, in the schema or in a value",
  };
  expect(Object.keys(about)).toEqual(Object.keys(schemaRefusals));
  const rows = Object.entries(schemaRefusals).map(
    ([name, message]) => `| ${about[name as keyof typeof schemaRefusals]} | ${message} |`,
  );
  return [
    "## JSON Schema support\n",
    wrapped(
      "A JSON Schema is read as draft 2020-12, or as draft-07 if its `$schema` says so. A keyword that the draft does not have is ignored. These features are refused on purpose, with `SCHEMA_UNUSABLE`:",
    ),
    "",
    "| refused | message |",
    "|---|---|",
    ...rows,
    "",
    "Two features differ from the default of the drafts:\n",
    wrapped(
      `- \`format\` is checked for these names, with the precision of \`ajv-formats\`: ${checkedFormats.map((name) => `\`${name}\``).join(", ")}. Every other name is an annotation and has no effect.`,
    ),
    "- `contentEncoding`, `contentMediaType` and `contentSchema` are annotations in both drafts.\n",
  ].join("\n");
}

/** One row for each limit; a limit without a description fails the test. */
function section(
  limits: object,
  about: Readonly<Record<string, string>>,
  header: string = "| limit | maximum | of |",
): string {
  const rows = Object.entries(limits).map(([name, most]) => `| \`${name}\` | ${most} | ${about[name]} |`);
  expect(Object.keys(about)).toEqual(Object.keys(limits));
  return [header, "|---|---|---|", ...rows, ""].join("\n");
}

describe("ARCHITECTURE.md", () => {
  it("shows the modules as the architecture test enforces them", () => {
    const rows = sectionOf("Modules").filter((line) => line.startsWith("| `"));
    const expected = moduleRules.map(
      ({ name, about, modules }) =>
        `| \`${name}\` | ${about} | ${modules.map((module) => `\`${module}\``).join(", ") || "nothing"} |`,
    );
    expect(rows).toEqual(expected);
  });

  it("shows the layers as the architecture test enforces them", () => {
    const rows = sectionOf("Layers").filter((line) => line.startsWith("| `"));
    const expected = layerRules.map(
      ({ folders, about }) => `| ${folders.map((folder) => `\`${folder}\``).join(", ")} | ${about} |`,
    );
    expect(rows).toEqual(expected);
  });

  it("stays within 300 lines", () => {
    expect(read("ARCHITECTURE.md").split("\n").length).toBeLessThanOrEqual(300);
  });
});

function sectionOf(heading: string): readonly string[] {
  const lines = read("ARCHITECTURE.md").split("\n");
  const from = lines.indexOf(`## ${heading}`) + 1;
  const length = lines.slice(from).findIndex((line) => line.startsWith("## "));
  return lines.slice(from, from + length);
}

describe("docs/upgrading.md", () => {
  const page = read("docs/upgrading.md");
  const kept = [...page.matchAll(/`([^`]+\.ts)`: "([^"]+)"/g)].map(([, file = "", title = ""]) => [title, file]);

  it.each(kept)("names a test that exists: %s", (title = "", file = "") => {
    expect(read(file)).toContain(`"${title}"`);
  });

  it("names a test for every promise", () => {
    expect(page.split("\n").filter((line) => /^\| [A-Z]/.test(line))).toHaveLength(kept.length);
  });
});

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

  it("has the ten laws, each with at least one promise", () => {
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

  it("has a line for every failpoint of the source, in order", () => {
    expect(tableAfter("Failpoints").map(([name]) => name)).toEqual([...allFailpoints]);
  });

  it("describes every scenario with the scenario's own text", () => {
    const told = Object.entries(scenarios).map(([name, { about }]) => [name, about]);
    expect(tableAfter("Scenarios")).toEqual(told);
  });

  it("describes every kill mode and every command-line scenario", () => {
    expect(tableAfter("Kill modes").map(([name]) => name)).toEqual([...partNames]);
    for (const name of Object.keys(cliScenarios))
      expect(text).toMatch(new RegExp(`^The scenarios of .process.:[^:]*\`${name}\``, "m"));
  });
});

describe("documentation pages", () => {
  it.each(pages)("%s links only to existing files", (page) => {
    const links = [...read(page).matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, target]) => target as string);
    const missing = links.filter((target) => !existsSync(repositoryPath(dirname(page), target)));
    expect(missing).toEqual([]);
  });

  it.each(pages)("%s links only to existing headings", (page) => {
    const links = [...read(page).matchAll(/\]\((?!https?:)([^)#]*)#([^)]+)\)/g)];
    const missing = links.filter(([, target, anchor]) => !anchorsOf(target || basename(page), page).has(anchor ?? ""));
    expect(missing.map(([link]) => link)).toEqual([]);
  });

  it("would be caught linking to a missing heading", () => {
    expect(anchorsOf("../cli.md", "docs/guides/first-tool.md").has("writ-crashtest-tool")).toBe(true);
    expect(anchorsOf("../cli.md", "docs/guides/first-tool.md").has("writ-crashtest")).toBe(false);
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

describe("guides", () => {
  it.each(markdownIn("docs/guides"))("%s says what each of its programs prints", (page) => {
    const told = documentedCommands(read(page));
    expect(told.length).toBeGreaterThan(0);
    expect(told.filter((block) => block.kind === "program" && block.prints.length === 0)).toEqual([]);
  });

  it.each([
    ["a block without a language", "```\nhello\n```"],
    ["a program without a name", "```js\nconsole.log(1);\n```"],
    ["a language nobody runs", "```ts\n// a.mjs: types\n```"],
    ["words that nothing prints", "```text\nhello\n```"],
  ])("may not contain %s, which no test would run", (_, page) => {
    expect(() => documentedCommands(`${page}\n`)).toThrow();
  });

  it("are compared with the printed output except for the parts they leave out", () => {
    expect("run_1 ended\na\nb\nlast\n").toMatch(outputPattern("run_… ended\n…\nlast\n"));
    expect("run_1 ended\nlast\n").not.toMatch(outputPattern("run_… ended\nlast but one\n"));
    expect("first\nlast\n").not.toMatch(outputPattern("last\n"));
    expect("a+b\n").not.toMatch(outputPattern("aab\n"));
    expect("run_\n").not.toMatch(outputPattern("run_…\n"));
  });
});

describe("decision records", () => {
  it("have consecutive numbers in their file names and titles", () => {
    const names = readdirSync(repositoryPath("docs", "adr"))
      .filter((name) => name !== "README.md")
      .toSorted();
    const said = names.map((name) => /^# (\d+)\. /.exec(read(`docs/adr/${name}`))?.[1]);
    expect(names.map((name) => Number(name.slice(0, 4)))).toEqual(names.map((_, index) => index + 1));
    expect(said.map(Number)).toEqual(names.map((_, index) => index + 1));
  });
});
