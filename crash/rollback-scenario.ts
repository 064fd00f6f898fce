import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Resource } from "../src/core/ports/resource.ts";
import { FaultError, fault } from "../src/core/values/fault.ts";
import type { Filesystem } from "../src/resources/filesystem-handle.ts";
import { HostFilesystem } from "../src/resources/host/host-filesystem.ts";
import { defineSlice } from "../src/schema/define-slice.ts";
import { defineTool } from "../src/schema/define-tool.ts";
import { agentPrincipal, cheapSchema, type Scenario, type ScenarioRun, type ScenarioWorld } from "./scenario.ts";
import { bookingTool, verifyBooking } from "./scenario-tools.ts";

/** The files that the plan writes. Every fourth existed before. */
const FILES = 100;
const isOld = (number: number) => number % 4 === 0;
const rooms = [1, 2, 3, 4, 5].map((number) => `room ${number}`);
const project = "rollback";

/** The number of files that the plan wrote. */
const filledSlice = defineSlice({ name: "filled", shape: "map", entry: { type: "integer" } });

/** Returns a working tree with the old files. A process that dies while it makes the tree leaves none. */
function roomTree(world: string): Readonly<Record<string, Resource>> {
  const root = `${world}.rooms`;
  if (!existsSync(root)) {
    const draft = `${root}.draft`;
    rmSync(draft, { recursive: true, force: true });
    mkdirSync(draft);
    for (let number = 0; number < FILES; number += 1)
      if (isOld(number)) writeFileSync(join(draft, `f${number}`), "old");
    renameSync(draft, root);
  }
  return { rooms: new HostFilesystem({ root }) };
}

/** Writes a hundred files and a count in state. */
function fillTool({ at }: ScenarioWorld) {
  return defineTool({
    name: "rooms.fill",
    effect: "writes",
    input: cheapSchema<object>(),
    output: cheapSchema<object>(),
    resources: { rooms: "handle" },
    run: async (_, { slice, resource }) => {
      const tree = resource<Filesystem>("rooms");
      at("tool.called");
      for (let number = 0; number < FILES; number += 1) await tree.write(`f${number}`, "plan");
      at("tool.sent");
      slice(filledSlice).set("n", FILES);
      return {};
    },
  });
}

function failTool() {
  return defineTool({
    name: "rooms.fail",
    effect: "reads",
    input: cheapSchema<object>(),
    output: cheapSchema<object>(),
    run: () => {
      throw new FaultError(fault("TOOL_FAILED", "the plan fails at its end"));
    },
  });
}

/** Throws if the end of the run left something of the plan in state or files. */
async function assertNothingLeft({ engine, result, worldLog }: ScenarioRun): Promise<boolean> {
  if (!result.final) return false;
  const filled = (await engine.state({ principal: agentPrincipal, project })).slice(filledSlice).get("n");
  if (filled !== undefined) throw new Error(`the state has a count of ${filled} after the rollback`);
  const root = `${worldLog.path}.rooms`;
  const wrong = readdirSync(root).filter((name) => readFileSync(join(root, name), "utf8") !== "old");
  const count = readdirSync(root).length;
  if (wrong.length > 0 || count !== FILES / 4) throw new Error(`left behind: ${wrong.join(", ")}; ${count} files`);
  return false;
}

const steps = rooms.map((to, index) => ({
  step_id: `book${index + 1}`,
  name: "room.book",
  payload: { to },
  depends_on: index === 0 ? ["fill"] : [`book${index}`],
}));

export const rollbackScenario: Scenario = {
  about: "an atomic plan of state, 100 files and 5 acts that fails at its end and is rolled back",
  tools: (world) => [
    fillTool(world),
    bookingTool(world, { verify: verifyBooking(world), timeoutMs: 150, settleAfter: 30 }),
    failTool(),
  ],
  slices: [filledSlice],
  resources: roomTree,
  project,
  atomicity: "plan",
  steps: [
    { step_id: "fill", name: "rooms.fill", payload: {} },
    ...steps,
    { step_id: "fail", name: "rooms.fail", payload: {}, depends_on: ["book5"] },
  ],
  acts: Object.fromEntries(
    rooms.flatMap((to, index) => [
      [`book${index + 1}`, { did: "book", to }],
      [`undo.book${index + 1}.1`, { did: "cancel", to }],
    ]),
  ),
  endStatuses: ["failed"],
  settlesAllDoubts: true,
  person: assertNothingLeft,
};
