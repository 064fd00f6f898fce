import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Engine, EngineOptions } from "../../src/engine/api/engine-api.ts";
import { createEngine } from "../../src/engine/engine.ts";
import { sqlite } from "../../src/store/sqlite/sqlite-store.ts";
import { repositoryPath } from "../repo/repository-path.ts";
import { type ServedEngine, serveEngine } from "../server/server-fixture.ts";
import { newProjectFolder } from "./project-folder.ts";
import { type CliOutput, commandNames, runCliIn } from "./run-cli.ts";

/** A store with a worker, and the command line that uses it: directly, or through a server. */
interface World {
  readonly folder: string;
  readonly ids: Record<string, string>;
  run(...args: readonly string[]): Promise<CliOutput>;
  close(): Promise<void>;
}

const source = JSON.stringify(repositoryPath("src", "index.ts"));
const config = `
import { defineTool, defineSlice } from ${source};
const object = { type: "object" };
const notes = defineSlice({ name: "notes", shape: "map", entry: { type: "string" } });
const send = defineTool({ name: "note.send", effect: "acts", input: object, output: object, run: async () => ({ sent: true }),
  verify: async () => ({ saw: "happened", output: { sent: true } }), compensate: async () => ({}) });
const lose = defineTool({ name: "note.lose", effect: "acts", tries: 1, input: object, output: object,
  run: async () => { throw new Error("the answer was lost"); } });
export default { store: "writ.db", tools: [send, lose], slices: [notes] };
`;

async function newFolder(): Promise<{ readonly folder: string; readonly options: EngineOptions }> {
  const folder = newProjectFolder();
  writeFileSync(join(folder, "writ.config.mjs"), config);
  const plan = (name: string, tool: string, payload = {}) =>
    writeFileSync(join(folder, name), JSON.stringify({ steps: [{ step_id: "send", name: tool, payload }] }));
  plan("plan.json", "note.send");
  plan("doubt.json", "note.lose");
  const keep = { step_id: "send", kind: "state_write", payload: { path: "/notes/latest", value: "a" } };
  writeFileSync(join(folder, "keep.json"), JSON.stringify({ steps: [keep] }));
  plan("wrong.json", "note.none");
  writeFileSync(
    join(folder, "wait.json"),
    JSON.stringify({ steps: [{ step_id: "wait", kind: "wait", payload: { signal: "go" } }] }),
  );
  const { default: loaded } = (await import(pathToFileURL(join(folder, "writ.config.mjs")).href)) as {
    default: EngineOptions;
  };
  return { folder, options: { ...loaded, store: sqlite(join(folder, "writ.db")) } };
}

async function embeddedWorld(): Promise<World> {
  const { folder, options } = await newFolder();
  const worker: Engine = await createEngine(options);
  return {
    folder,
    ids: {},
    run: (...args) => runCliIn(folder, {}, ...args),
    close: () => worker.close(),
  };
}

async function servedWorld(): Promise<World> {
  const { folder, options } = await newFolder();
  const served: ServedEngine = await serveEngine({ engine: options });
  const who = { tenant: "default" };
  const person = { WRIT_SERVER: served.server.url, WRIT_TOKEN: served.key({ ...who, id: "ana" }) };
  const agent = { ...person, WRIT_TOKEN: served.key({ ...who, id: "agent", kind: "agent" }) };
  // Without a server, run, simulate and schedule submit as the principal of the config, which is an agent.
  const isAgent = (command: string | undefined) => command === "run" || command === "simulate";
  return {
    folder,
    ids: {},
    run: (...args) => runCliIn(folder, { env: isAgent(args[0]) ? agent : person }, ...args),
    close: () => served.close(),
  };
}

/** Command lines in order. `{run}` and `{gate}` are ids of the last run, `run=`… keeps one under a name. */
const lines: readonly (readonly string[])[] = [
  ["check", "plan.json"],
  ["check", "wrong.json"],
  ["simulate", "plan.json"],
  ["tools"],
  ["runs"],
  ["run", "plan.json"],
  ["show", "{run}"],
  ["runs", "--status", "waiting", "--count"],
  ["gates"],
  ["gates", "--mine"],
  ["approve", "{gate}", "--reason", "known"],
  ["approve", "{gate}"],
  ["events", "{run}"],
  ["explain", "{run}", "send"],
  ["explain", "{run}", "none"],
  ["export", "{run}", "--otlp"],
  ["export", "{run}"],
  ["verify", "{run}"],
  ["cost", "{run}"],
  ["cost"],
  ["budget", "--by", "agent"],
  ["undo", "{run}", "--reason", "wrong"],
  ["resume", "{run}"],
  ["run", "plan.json"],
  ["reject", "{gate}", "--reason", "no"],
  ["show", "{run}"],
  ["run", "plan.json"],
  ["cancel", "{run}", "--reason", "twice"],
  ["run", "keep.json", "--project", "website"],
  ["state", "website"],
  ["project", "history", "website"],
  ["checkpoint", "list", "--project", "website"],
  ["checkpoint", "diff", "{run}/send/before"],
  ["checkpoint", "restore", "{run}/send/before", "--reason", "wrong"],
  ["checkpoint", "fork", "{run}/send/before"],
  ["run", "doubt.json"],
  ["approve", "{gate}"],
  ["doubts"],
  ["doctor"],
  ["resolve", "{run}", "send", "--give-up", "--reason", "lost"],
  ["project", "lock", "website", "--reason", "audit"],
  ["project", "open", "website"],
  ["run", "wrong.json"],
  ["signal", "go", "--payload", "1"],
  ["signal", "go", "--payload", "1", "--id", "a"],
  ["halt", "--reason", "stop"],
  ["halts"],
  ["lift"],
  ["schedule", "daily", "plan.json", "--cron", "0 9 * * *"],
  ["schedules"],
  ["schedule", "daily", "--pause"],
  ["schedule", "daily", "--remove"],
  ["doubts"],
  ["workers"],
  ["audit"],
  ["show", "run_none"],
  ["approve", "gate_none"],
  ["resolve", "run_none", "send", "--absent"],
  ["retain", "--before", "2020-01-01"],
  ["forget", "--session", "s", "--owner", "bot"],
  ["doctor"],
];

/** Commands that need the store, the config or another program on this machine. `--server` does not apply to them. */
const localCommands = [..."worker serve backup restore migrate mcp keys policy crashtest init demo open".split(" ")];

let worlds: readonly World[];
beforeAll(async () => {
  worlds = [await embeddedWorld(), await servedWorld()];
});
afterAll(async () => {
  for (const { close, folder } of worlds) {
    await close();
    rmSync(folder, { recursive: true });
  }
});

/** Replaces what differs between two stores: ids, times, digests, addresses and folders. */
function comparable(text: string, { folder }: World): string {
  const names = new Map<string, string>();
  const named = (id: string, kind: string) => {
    if (!names.has(id)) names.set(id, `<${kind} ${names.size}>`);
    return names.get(id) as string;
  };
  return (
    text
      .replaceAll(folder, "<folder>")
      .replaceAll(/\b(run|gate|wrk|sch|set|ntc|pol)_[0-9a-z]{20,}\b/g, (id, kind: string) => named(id, kind))
      .replaceAll(/\b[0-9a-f]{12,64}\b/g, "<digest>")
      .replaceAll(/\b1[0-9]{12}\b/g, "<time>")
      .replaceAll(/\b1[0-9]{18}\b/g, "<time>")
      .replaceAll(/\d{4}-\d\d-\d\d(T| )?(\d\d:\d\d(:\d\d)?(\.\d+)?Z?)?/g, "<time>")
      .replaceAll(/\b\d+(\.\d+)? ?(ms|s|seconds?)\b/g, "<duration>")
      .replaceAll(/("ms": ?)\d+/g, "$1<duration>")
      .replaceAll(/"writ\.\w+_ms","value":\{"intValue":"\d+"/g, "<duration>")
      .replaceAll(/"elapsed_ms":\d+/g, "<duration>")
      // A worker may use the approval before the answer is read.
      .replaceAll('"status":"consumed"', '"status":"approved"')
      .replaceAll(/ --server \S+/g, "")
  );
}

/** Waits until the worker of the world has done the approved call. */
async function untilAtRest(world: World): Promise<void> {
  for (;;) {
    const { out } = await world.run("show", world.ids.run ?? "", "--json");
    const { steps } = JSON.parse(out) as { readonly steps?: { readonly send?: { readonly state: string } } };
    if (!["ready", "running", "pending"].includes(steps?.send?.state ?? "")) return;
  }
}

describe("a command", () => {
  it.each(lines.map((line, at) => [at, line.join(" "), line] as const))(
    "%i `%s` prints and exits the same through a server",
    async (_, __, line) => {
      const outputs: unknown[] = [];
      for (const world of worlds) {
        const args = line.map((part) => part.replace(/\{(\w+)\}/, (_, name: string) => world.ids[name] ?? "none"));
        const isRead = ![
          "run",
          "approve",
          "reject",
          "resume",
          "undo",
          "cancel",
          "signal",
          "schedule",
          "checkpoint",
          "resolve",
          "project",
        ].includes(line[0] ?? "");
        const shown = isRead ? await world.run(...args) : { exit: 0, out: "", err: "" };
        const answered = await world.run(...args, "--json");
        const { run_id, gates } = (
          answered.out.startsWith("{") ? JSON.parse(answered.out.split("\n")[0] ?? "") : {}
        ) as {
          readonly run_id?: string;
          readonly gates?: readonly { readonly gate_id: string }[];
        };
        if (line[0] === "run" && run_id !== undefined)
          Object.assign(world.ids, { run: run_id, gate: gates?.[0]?.gate_id ?? "none" });
        if (line[0] === "approve") await untilAtRest(world);
        outputs.push({
          exit: answered.exit,
          json: comparable(answered.out, world),
          text: comparable(shown.out + shown.err, world),
        });
      }
      expect(outputs[1]).toEqual(outputs[0]);
    },
  );

  it("is compared, or works on the machine of the store only", async () => {
    const compared = new Set(lines.map(([command]) => command));
    const missing = (await commandNames()).filter((name) => !compared.has(name) && !localCommands.includes(name));
    expect(missing).toEqual([]);
  });
});
