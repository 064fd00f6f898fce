import type { VNode } from "preact";
import { callRoute } from "../../api/call-route.ts";
import { useServerValue } from "../../live/use-server-value.ts";

/** Links to the held calls and the acts in doubt of a run: the next action of the person. */
export function WaitingForYou({ run_id }: { readonly run_id: string }): VNode | null {
  const follows = (change: { readonly run_id: string }) => change.run_id === run_id;
  const gates = useServerValue(`gates of ${run_id}`, () => callRoute("gates", { runId: run_id, status: "open" }), {
    follows,
  });
  const doubts = useServerValue(`doubts of ${run_id}`, () => callRoute("inDoubt", { runId: run_id }), { follows });
  const held = gates.value?.items ?? [];
  const unknown = (doubts.value?.items ?? []).filter(({ waiting_for }) => waiting_for === "person");
  if (held.length === 0 && unknown.length === 0) return null;
  return (
    <ul class="demo-waiting">
      {held.map(({ gate_id, tool }) => (
        <li key={gate_id} class="note note-hold">
          <span>
            <code>{tool}</code> waits for your decision.
          </span>
          <a class="button" href={`/gates/${encodeURIComponent(gate_id)}`}>
            Look at the call
          </a>
        </li>
      ))}
      {unknown.map(({ step_id, tool }) => (
        <li key={step_id} class="note note-doubt">
          <span>
            <code>{tool}</code> is in doubt: was it done?
          </span>
          <a class="button" href={`/?item=${encodeURIComponent(`${run_id}/${step_id}`)}`}>
            Settle it in the inbox
          </a>
        </li>
      ))}
    </ul>
  );
}
