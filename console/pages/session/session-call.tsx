import type { VNode } from "preact";
import type { CallAnswer } from "../../../src/core/run/call-answer.ts";
import type { SessionCall } from "../../../src/engine/api/open-run-api.ts";
import { pagePaths } from "../../../src/http-api/page-paths.ts";
import { JsonView } from "../../components/json-view.tsx";
import { SafeText } from "../../components/safe-text.tsx";
import { StatusPill } from "../../components/status-pill.tsx";
import type { LoadedRun } from "../run/use-run.ts";
import { HeldCall } from "./held-call.tsx";

interface SessionCallProps {
  readonly call: SessionCall;
  readonly loaded: LoadedRun;
  readonly onDecided: () => unknown;
}

const tones = {
  succeeded: "good",
  held: "hold",
  refused: "danger",
  failed: "danger",
  in_doubt: "doubt",
  waiting: "hold",
  cancelled: "soft",
} as const;

/** A call of the agent with its answer. A held call is decided here. */
export function SessionCallPart({ call, loaded, onDecided }: SessionCallProps): VNode {
  const { tool, step_id, input, answer, delivered } = call;
  const index = loaded.view.find(step_id);
  const child = index === null ? null : loaded.view.history(index).delegated;
  return (
    <div class={answer?.status === "held" ? "call call-held" : "call"}>
      <p class="step-line">
        <StatusPill status={answer?.status ?? "running"} tone={answer === null ? "active" : tones[answer.status]} />
        <b>
          <SafeText text={tool} />
        </b>
        <a class="small" href={pagePaths.step(loaded.view.run_id, step_id)} title={call.id}>
          Details
        </a>
        {child !== null && <a href={`/sessions/${encodeURIComponent(child)}`}>Read the sub-agent</a>}
        {delivered && <span class="soft small">the client has the answer</span>}
      </p>
      {answer?.status === "held" ? (
        <HeldCall gate={answer.gate} onDecided={onDecided} />
      ) : (
        <details class="raw" open={size(input) < 400}>
          <summary>Input</summary>
          <JsonView value={input} label={`Input of ${tool}`} foldFrom={2} canCopy={false} />
        </details>
      )}
      {answer !== null && <AnswerPart answer={answer} tool={tool} />}
    </div>
  );
}

function AnswerPart({ answer, tool }: { readonly answer: CallAnswer; readonly tool: string }): VNode | null {
  switch (answer.status) {
    case "succeeded":
      return (
        <details class="raw" open={size(answer.output) < 400}>
          <summary>
            {answer.reused === undefined ? "Output" : "Output of an earlier act; nothing was done again"}
          </summary>
          <JsonView value={answer.output} label={`Output of ${tool}`} foldFrom={2} canCopy={false} />
        </details>
      );
    case "refused":
    case "failed":
    case "in_doubt":
      return (
        <p class={answer.status === "in_doubt" ? "note note-doubt" : "note note-danger"}>
          <SafeText text={answer.fault.message} />
          <code>{answer.fault.code}</code>
        </p>
      );
    case "waiting":
      return <p class="soft small">It waits: {answer.blocked.reason_code.toLowerCase().replaceAll("_", " ")}.</p>;
    default:
      return null;
  }
}

function size(value: unknown): number {
  return typeof value === "string" ? value.length : JSON.stringify(value ?? null).length;
}
