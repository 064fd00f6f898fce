import type { VNode } from "preact";
import type { GateView, UnreadableGate } from "../../src/engine/api/list-api.ts";
import { callRoute } from "../api/call-route.ts";
import { StatusPill } from "../components/status-pill.tsx";
import { useServerValue } from "../live/use-server-value.ts";

const listed = 6;

type DecidedGate = GateView | UnreadableGate;

/** The latest decisions about calls of a tool: how people decided before. */
export function ToolHistory({ tool, except }: { readonly tool: string; readonly except: string }): VNode {
  const { value } = useServerValue(`history ${tool}`, async () => {
    const statuses = ["consumed", "approved", "rejected", "expired"] as const;
    const pages = await Promise.all(statuses.map((status) => callRoute("gates", { tool, status, limit: listed })));
    return pages.flatMap(({ items }) => items).sort((left, right) => (left.gate_id < right.gate_id ? 1 : -1));
  });
  const gates = (value ?? []).filter(({ gate_id }) => gate_id !== except);
  if (value === null) return <p class="soft">Reading …</p>;
  if (gates.length === 0) return <p class="soft">No call of this tool was decided before.</p>;
  const count = (wanted: readonly DecidedGate["status"][]) =>
    gates.filter(({ status }) => wanted.includes(status)).length;
  return (
    <>
      <p class="soft">
        Of the latest {gates.length}: {count(["approved", "consumed"])} approved, {count(["rejected"])} rejected,{" "}
        {count(["expired"])} expired.
      </p>
      <ul class="history">
        {gates.slice(0, listed).map(({ gate_id, status, requester }) => (
          <li key={gate_id}>
            <StatusPill status={status === "consumed" ? "approved" : status} />
            <a href={`/gates/${encodeURIComponent(gate_id)}`}>
              <code>{gate_id.slice(-8)}</code>
            </a>
            <span class="soft">for {requester}</span>
          </li>
        ))}
      </ul>
    </>
  );
}
