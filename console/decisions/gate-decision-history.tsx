import type { VNode } from "preact";
import type { GateView } from "../../src/engine/api/list-api.ts";
import { pagePaths } from "../../src/http-api/page-paths.ts";
import { isDemoServer } from "../api/browser-login.ts";
import { OutputView } from "../components/output-view.tsx";
import { RelativeTime } from "../components/relative-time.tsx";
import { SafeText } from "../components/safe-text.tsx";
import { StatusPill } from "../components/status-pill.tsx";
import type { CallOutcome } from "./call-outcome.ts";
import { DecisionPart } from "./gate-call.tsx";
import type { GateRecord } from "./gate-record.ts";

/** How a gate was decided, by whom and why. `isMeanwhile`: it was open when this page was loaded. */
export function GateDecisionHistory({
  gate,
  record,
  isMeanwhile,
}: {
  readonly gate: GateView;
  readonly record: GateRecord | null;
  readonly isMeanwhile: boolean;
}): VNode | null {
  const decisions = record?.decisions ?? [];
  if (gate.status === "open" && decisions.length === 0) return null;
  const tone = gate.status === "rejected" || gate.status === "expired" ? "note-danger" : "note-good";
  return (
    <div class={`note ${gate.status === "open" ? "" : tone}`} role={isMeanwhile ? "alert" : "status"}>
      {decisions.length === 0 && <p>This gate is {gate.status}. It takes no decision.</p>}
      {decisions.map(({ how, by, reason, at }) => (
        <p key={`${at} ${how}`}>
          {isMeanwhile && "Decided meanwhile: "}
          {how}
          {by !== null && (
            <>
              {" "}
              by <SafeText text={by} />
            </>
          )}
          , <RelativeTime at={at} />
          {reason !== "" && (
            <>
              : <SafeText text={reason} />
            </>
          )}
        </p>
      ))}
    </div>
  );
}

/** The result of the approved call, and links to continue with. */
export function GateOutcome({ gate, outcome }: { readonly gate: GateView; readonly outcome: CallOutcome }): VNode {
  return (
    <DecisionPart title="Result of the call">
      <p class="outcome" role="status">
        <StatusPill status={outcome.is} /> {"text" in outcome && <SafeText text={outcome.text} />}
      </p>
      {outcome.is === "succeeded" && <OutputView value={outcome.output} label="output" foldFrom={12} />}
      <p class="actions">
        <a class="button" href={pagePaths.step(gate.run_id, gate.step_id)}>
          {outcome.is === "in_doubt" ? "Settle it in its run" : "Open the run"}
        </a>
        <a class="button button-quiet" href="/">
          Next in the inbox
        </a>
        {isDemoServer.value && (
          <a class="button button-quiet" href="/demo">
            Back to the demo
          </a>
        )}
      </p>
    </DecisionPart>
  );
}
