import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { FaultError, fault } from "../src/core/fault.ts";
import type { Json } from "../src/core/json/json.ts";
import type { Resource } from "../src/core/resource.ts";
import type { Tool, ToolContext } from "../src/core/tool.ts";
import type { Filesystem } from "../src/resources/filesystem.ts";
import { HostFilesystem } from "../src/resources/host/host-filesystem.ts";
import { defineSlice } from "../src/schema/define-slice.ts";
import { defineTool } from "../src/schema/define-tool.ts";
import { agent, ana, type Rest, type World } from "./scenario.ts";

export const tally = defineSlice({ name: "tally", shape: "map", entry: { type: "integer" } });

/** Counts in state. Whoever counted twice, or not at all, is found out by what the plan asserts in the end. */
export function counter(world: World): Tool {
  return defineTool({
    name: "count",
    effect: "writes",
    input: { type: "object" },
    output: { type: "integer" },
    run: async (_, { slice }) => {
      const count = Number(slice(tally).get("n") ?? 0) + 1;
      slice(tally).set("n", count);
      world.at("tool.called");
      return count;
    },
  });
}

/** What the files say, said once more in state: whatever happens, both say the same. */
export const filed = defineSlice({ name: "filed", shape: "map", entry: { type: "integer" } });

/** Two working trees, beside what the world of the scenario writes down. */
export function cabinets(world: string): Readonly<Record<string, Resource>> {
  return { files: cabinet(`${world}.tree`), copies: cabinet(`${world}.copies`) };
}

function cabinet(root: string): Resource {
  mkdirSync(root, { recursive: true });
  const count = join(root, "count");
  if (!existsSync(count)) writeFileSync(count, "0");
  return new HostFilesystem({ root });
}

/** Counts in two files and in state. The first to be asked to stumble does so when all is written. */
export function filer(world: World): Tool {
  return defineTool({
    name: "file",
    effect: "writes",
    input: { type: "object" },
    output: { type: "integer" },
    resources: { files: "handle", copies: "raw" },
    run: async (input, context) => {
      const count = (await counted(context)) + 1;
      world.at("tool.called");
      await context.resource<Filesystem>("files").write("count", String(count));
      world.at("tool.sent");
      await context.resource<Filesystem>("copies").write("count", String(count));
      context.slice(filed).set("n", count);
      if ((input as { stumbles?: boolean }).stumbles === true && context.attempt === 1)
        throw new FaultError(fault("DEPENDENCY_UNAVAILABLE", "it stumbled"));
      return count;
    },
  });
}

/** Says what has been counted. */
export function clerk(): Tool {
  return defineTool({
    name: "look",
    effect: "writes",
    input: { type: "object" },
    output: { type: "integer" },
    resources: { files: "handle", copies: "handle" },
    run: (_, context) => counted(context),
  });
}

async function counted({ slice, resource }: ToolContext): Promise<number> {
  const said = Number(slice(filed).get("n") ?? 0);
  for (const name of ["files", "copies"]) {
    const count = Number(await resource<Filesystem>(name).readText("count"));
    if (count !== said) throw new FaultError(fault("STATE_INVALID", `state says ${said}, and ${name} ${count}`));
  }
  return said;
}

/** Whoever comes first after a crash finds files and state that agree; or that what is in the way is told, and tries again. */
export async function looksUp({ engine }: Omit<Rest, "result">): Promise<Json> {
  // Under a key of its own: what is asked for again after a fault is the same look.
  const as = { principal: agent, project: "filing", requestKey: randomUUID() };
  for (;;) {
    try {
      const { step } = await engine.call("filing.look", {}, as);
      if (step.state === "succeeded") return step.output;
      throw new Error(`what was counted cannot be told: ${JSON.stringify(step)}`);
    } catch (error) {
      if (!(error instanceof FaultError) || error.fault.code !== "STORE_FAILED") throw error;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
}

/** Takes the second step back when all is done, in files and in state. */
export async function goesBack({ engine, result, witness }: Rest): Promise<boolean> {
  if (!result.final) return false;
  const events = (await engine.run(result.run_id, { principal: ana })).events();
  let isBack = false;
  for await (const { event } of events) isBack ||= event.type === "state.restored";
  const counted = await looksUp({ engine, witness });
  if (counted !== (isBack ? 1 : 2)) throw new Error(`${counted} is counted, and the record says ${isBack ? 1 : 2}`);
  if (isBack) return false;
  await engine.checkpoints.restore({ runId: result.run_id, stepId: "two", side: "before" }, { principal: ana });
  witness.hears("state.restored");
  return true;
}
