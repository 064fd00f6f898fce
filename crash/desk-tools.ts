import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Resource } from "../src/core/resource.ts";
import type { Tool } from "../src/core/tool.ts";
import type { Filesystem } from "../src/resources/filesystem.ts";
import { HostFilesystem } from "../src/resources/host/host-filesystem.ts";
import { defineSlice } from "../src/schema/define-slice.ts";
import { defineTool } from "../src/schema/define-tool.ts";
import type { World } from "./scenario.ts";

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

/** The working tree of the scenario, beside what its world writes down. */
export function cabinet(world: string): Resource {
  const root = `${world}.tree`;
  mkdirSync(root, { recursive: true });
  const count = join(root, "count");
  if (!existsSync(count)) writeFileSync(count, "0");
  return new HostFilesystem({ root });
}

/** Counts in a file. */
export function filer(world: World): Tool {
  return defineTool({
    name: "file",
    effect: "writes",
    input: { type: "object" },
    output: { type: "integer" },
    resources: { files: "handle" },
    run: async (_, { resource }) => {
      const files = resource<Filesystem>("files");
      const count = Number(await files.readText("count")) + 1;
      world.at("tool.called");
      await files.write("count", String(count));
      world.at("tool.sent");
      return count;
    },
  });
}
