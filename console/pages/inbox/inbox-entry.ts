import type { GateView, UnreadableGate } from "../../../src/engine/api/list-api.ts";
import { acceptToolName } from "../../decisions/gate-call.tsx";
import type { ListedDoubt } from "../../decisions/listed-doubt.ts";
import { summaryText } from "./summary-text.ts";

/** One thing that waits for a person. */
export interface InboxEntry {
  readonly id: string;
  /** `data`: a call that waits for values from a person. */
  readonly kind: "gate" | "data" | "tool_change" | "doubt";
  readonly tool: string;
  readonly requester: string;
  /** The reason of a hold, or of the doubt. */
  readonly reason: string;
  /** The input on one line. */
  readonly summary: string;
  readonly of: { readonly gate: GateView | UnreadableGate } | { readonly doubt: ListedDoubt };
}

export function gateEntry(gate: GateView | UnreadableGate): InboxEntry {
  const { gate_id, tool, requester } = gate;
  const isToolChange = tool === acceptToolName;
  const known = "input" in gate;
  return {
    id: gate_id,
    kind: isToolChange ? "tool_change" : known && gate.asks_for !== undefined ? "data" : "gate",
    tool,
    requester,
    reason: known ? gate.reason : gate.fault.message,
    summary: known ? summaryText(gate.input) : "",
    of: { gate },
  };
}

export function doubtEntry(doubt: ListedDoubt): InboxEntry {
  const { run_id, step_id, tool, requester, fault } = doubt;
  return {
    id: `${run_id}/${step_id}`,
    kind: "doubt",
    tool,
    requester,
    reason: fault.message,
    summary: "input" in doubt ? summaryText(doubt.input) : "",
    of: { doubt },
  };
}

/** Returns the entries that have a text in their tool, requester, reason or input. */
export function filterEntries(entries: readonly InboxEntry[], text: string): readonly InboxEntry[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return entries;
  return entries.filter(({ tool, requester, reason, summary }) =>
    [tool, requester, reason, summary].some((field) => field.toLowerCase().includes(wanted)),
  );
}
