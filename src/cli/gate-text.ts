import { demandParts, demandText } from "../core/approval/approval-demand.ts";
import type { OpenGate } from "../core/run/gate-details.ts";
import type { Json } from "../core/values/json.ts";
import type { UnreadableGate } from "../engine/api/engine-api.ts";
import type { CommandLine } from "./command-to-paste.ts";
import { jsonLines, line, type SafeLine, shortValue } from "./safe-line.ts";
import { spentLines } from "./spent-text.ts";
import type { TextStyle } from "./text-style.ts";
import { timeText } from "./time-text.ts";

type ShownGate = OpenGate & { readonly requester?: string | null; readonly run_id?: string };

/** Prints the held call in full, and the commands that decide it. */
export function gateLines(gate: ShownGate, commandLine: CommandLine, style: TextStyle): readonly SafeLine[] {
  return [
    line``,
    line`${gateHeading(gate)} asks to call ${line`${gate.tool}`.painted(style.bold)} (${gatePlace(gate)}) with`,
    ...jsonLines(gate.input, "    "),
    line`  held: ${gate.reason}`,
    line`  ${votesText(gate)}, until ${timeText(gate.expires_at, style)}`,
    ...estimateLines(gate),
    ...previewLines(gate),
    ...askedLines(gate),
    line`  approve:  ${commandLine("approve", gate.gate_id, ...dataWords(gate), ...roleWords(gate))}`,
    line`  reject:   ${commandLine("reject", gate.gate_id, ...roleWords(gate))}`,
  ];
}

const gateHeading = ({ requester }: Pick<ShownGate, "requester">): string => requester ?? "the run";

function gatePlace({ step_id, run_id }: Pick<ShownGate, "step_id" | "run_id">): string {
  return `step ${step_id}${run_id === undefined ? "" : ` of ${run_id}`}`;
}

function askedLines({ asks_for = [] }: OpenGate): readonly SafeLine[] {
  return asks_for.map(({ path, what }) => line`  supply ${path}: ${what}`);
}

/** Returns the option with the values that the gate asks for, each to be filled in. */
function dataWords({ asks_for }: Pick<OpenGate, "asks_for">): readonly string[] {
  if (asks_for === undefined) return [];
  return ["--data", JSON.stringify(Object.fromEntries(asks_for.map(({ path }) => [path, "…"])))];
}

/** Returns the roles that a person needs to decide, as options of the command. */
function roleWords({ demand }: Pick<OpenGate, "demand">): readonly string[] {
  const roles = new Set(demandParts(demand).flatMap(({ role }) => (role === null ? [] : [role])));
  return [...roles].flatMap((role) => ["--role", role]);
}

/** Returns the approvals that a gate needs and those it has. */
export function votesText({ demand, votes }: Pick<OpenGate, "demand" | "votes">): string {
  const given = votes.length === 0 ? "" : `; approved by ${votes.map(({ by }) => by).join(", ")}`;
  return `asks for ${demandText(demand)}${given}`;
}

/** Returns the estimated cost, and whether the call can be undone. */
function estimateLines({ estimate, reversible, covers }: OpenGate): readonly SafeLine[] {
  const { usd_micros = 0, credits = 0, tokens_in = 0, tokens_out = 0 } = estimate ?? {};
  const [cost] = spentLines({ usd_micros, credits, tokens_in, tokens_out }).map((cost) => line`  estimate: ${cost}`);
  const how = covers === undefined ? "can be undone" : "can be undone, and is undone if the plan aborts";
  const undo = reversible === null ? [] : [line`  ${reversible ? how : "cannot be undone"}`];
  return cost === undefined ? undo : [cost, ...undo];
}

/** Returns the known effects of the call, and why an approval is needed again. */
function previewLines({ preview, stale, caution }: OpenGate): readonly SafeLine[] {
  const again = [
    ...(stale === undefined ? [] : [line`  needs approval again: ${stale.message}`]),
    ...(caution === undefined ? [] : [line`  caution: ${caution}`]),
  ];
  if (preview === null) return again;
  const { fault, output, patch = [] } = preview;
  return [
    ...again,
    ...(fault === undefined ? [] : [line`  would fail: ${fault.code}: ${fault.message}`]),
    ...(output === undefined ? [] : [line`  would return ${shortValue(output)}`]),
    ...patch.filter(({ op }) => op !== "init").map((change) => line`  would ${shortValue(change as unknown as Json)}`),
  ];
}

/** Describes a held call whose input cannot be read, so that it should not be decided. */
export function hiddenGateLines(gate: UnreadableGate, commandLine: CommandLine): readonly SafeLine[] {
  const { tool, run_id, fault } = gate;
  return [
    line``,
    line`${gateHeading(gate)} asks to call ${tool} (${gatePlace(gate)}), and the input cannot be read`,
    line`  ${fault.code}: ${fault.message}`,
    line`  inspect it:  ${commandLine("audit", run_id)}`,
  ];
}
