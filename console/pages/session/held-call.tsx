import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { demandText } from "../../../src/core/approval/approval-demand.ts";
import type { OpenGate } from "../../../src/core/run/gate-details.ts";
import { pagePaths } from "../../../src/http-api/page-paths.ts";
import { hasScope } from "../../api/browser-login.ts";
import { callRoute } from "../../api/call-route.ts";
import { type ApiProblem, toProblem } from "../../api/problem.ts";
import { JsonView } from "../../components/json-view.tsx";
import { ProblemNote } from "../../components/problem-note.tsx";
import { RelativeTime } from "../../components/relative-time.tsx";
import { SafeText } from "../../components/safe-text.tsx";

interface HeldCallProps {
  readonly gate: OpenGate;
  readonly onDecided: () => unknown;
}

/** A held call: the exact call, why it is held, and its decision. */
export function HeldCall({ gate, onDecided }: HeldCallProps): VNode {
  const { gate_id, digest, input, reason, demand, expires_at, caution, votes, asks_for } = gate;
  const [why, setWhy] = useState("");
  const [problem, setProblem] = useState<ApiProblem | null>(null);
  const [isBusy, setBusy] = useState(false);
  const decide = async (verb: "approve" | "reject") => {
    setBusy(true);
    setProblem(null);
    try {
      await callRoute(verb, { gate_id, digest, ...(why !== "" && { reason: why }) });
    } catch (error) {
      setProblem(toProblem(error));
    }
    setBusy(false);
    await onDecided();
  };
  return (
    <div class="stack-small">
      <p>
        <SafeText text={reason} />. It needs {demandText(demand)} and expires <RelativeTime at={expires_at} />.
        {votes.length > 0 && ` ${votes.length} approved so far.`}
      </p>
      {caution !== undefined && (
        <p class="note note-danger">
          <SafeText text={caution} />
        </p>
      )}
      <JsonView value={input} label="The exact call" foldFrom={6} />
      <ProblemNote problem={problem} />
      {hasScope("decide") && (
        <form class="hold-form" onSubmit={(event) => event.preventDefault()}>
          <label class="field">
            Reason, for the record
            <input
              name="reason"
              autocomplete="off"
              maxLength={1000}
              value={why}
              onInput={(event) => setWhy(event.currentTarget.value)}
            />
          </label>
          <div class="actions">
            {asks_for === undefined && (
              <button type="button" class="button" disabled={isBusy} onClick={() => void decide("approve")}>
                Approve
              </button>
            )}
            <button type="button" class="button button-danger" disabled={isBusy} onClick={() => void decide("reject")}>
              Reject
            </button>
            <a class="button button-quiet" href={pagePaths.gate(gate_id)}>
              {asks_for === undefined ? "Edit and more" : "Supply the data"}
            </a>
          </div>
        </form>
      )}
    </div>
  );
}
