import type { VNode } from "preact";
import { pagePaths } from "../../../src/http-api/page-paths.ts";
import { SafeText } from "../../components/safe-text.tsx";
import type { LoadedRun } from "./use-run.ts";

const shownMax = 4;

/** Says what the run waits for, and what the reader can do now. */
export function NextAction({
  loaded: { view, now, isCaughtUp },
  onStep,
}: {
  readonly loaded: LoadedRun;
  readonly onStep: (step_id: string) => void;
}): VNode | null {
  const result = isCaughtUp ? view.result() : now;
  if (result === null) return null;
  const { next, gates, blocked_on, refused, failed } = result;
  if (refused !== undefined)
    return (
      <div class="note note-danger">
        <p>
          <SafeText text={refused.message} /> <code>{refused.code}</code>
        </p>
      </div>
    );
  if (next === null) return null;
  const doubts = blocked_on.filter(({ reason_code }) => reason_code === "IN_DOUBT");
  const isQuiet = next.startsWith("nothing to do");
  return (
    <div class={isQuiet ? "note" : "note note-hold"} role="status">
      <p>
        {gates.length > 0 ? waitText(gates.length) : <SafeText text={`${next[0]?.toUpperCase()}${next.slice(1)}.`} />}
      </p>
      <div class="next-links">
        {gates.slice(0, shownMax).map(({ gate_id, tool, step_id }) => (
          <a key={gate_id} class="button" href={pagePaths.gate(gate_id)}>
            <span>
              Look at <SafeText text={step_id} /> (<SafeText text={tool} />)
            </span>
          </a>
        ))}
        {doubts.slice(0, shownMax).map(({ step_id }) => (
          <StepButton key={step_id} step_id={step_id} words="Resolve" onStep={onStep} />
        ))}
        {failed.slice(0, shownMax).map(({ step_id }) => (
          <StepButton key={step_id} step_id={step_id} words="Look at" onStep={onStep} />
        ))}
        {gates.length + doubts.length > 2 * shownMax && <a href="/">All that waits for you</a>}
      </div>
    </div>
  );
}

function waitText(gates: number): string {
  return gates === 1
    ? "A call waits for the decision of a person."
    : `${gates} calls wait for the decision of a person.`;
}

interface StepButtonProps {
  readonly step_id: string;
  readonly words: string;
  readonly onStep: (step_id: string) => void;
}

function StepButton({ step_id, words, onStep }: StepButtonProps): VNode {
  return (
    <button type="button" class="link-button" onClick={() => onStep(step_id)}>
      {words} <SafeText text={step_id} />
    </button>
  );
}
