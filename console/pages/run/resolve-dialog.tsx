import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { Json } from "../../../src/core/values/json.ts";
import { callRoute } from "../../api/call-route.ts";
import { RelativeTime } from "../../components/relative-time.tsx";
import { SafeText } from "../../components/safe-text.tsx";
import { RunActionDialog } from "./run-action-dialog.tsx";
import type { StepPartProps } from "./step-part.tsx";

type Resolution = "happened" | "absent" | "undo" | "give_up" | "verify";

const choices: readonly { readonly as: Resolution; readonly words: string; readonly effect: string }[] = [
  { as: "happened", words: "It happened", effect: "It is recorded as done, with this output. Nothing is sent." },
  { as: "absent", words: "It did not happen", effect: "The call may be made again." },
  { as: "undo", words: "Undo it", effect: "Its compensation runs, as if it had happened." },
  { as: "give_up", words: "Give up", effect: "The step fails, and whether it happened stays unknown." },
  { as: "verify", words: "Ask its verifier again", effect: "The verifier of the tool looks in the outside world." },
];

/** Settles an act in doubt, with the evidence in view. */
export function ResolveDialog(props: StepPartProps & { readonly onClose: () => void }): VNode {
  const { loaded, step, history, onClose } = props;
  const [as, setAs] = useState<Resolution | null>(null);
  const [output, setOutput] = useState("null");
  const parsed = parseJson(output);
  const attempt = history.attempts.at(-1);
  const resolve = (reason: string | undefined) =>
    callRoute("resolve", {
      run_id: loaded.view.run_id,
      step_id: step.spec.step_id,
      attempt: step.attempts,
      ...(reason !== undefined && { reason }),
      ...(as === "happened" ? { as, output: parsed ?? null } : { as: as as Exclude<Resolution, "happened"> }),
    });
  return (
    <RunActionDialog
      title="Did it happen?"
      does={choices.find((choice) => choice.as === as)?.words ?? "Choose first"}
      isReady={as !== null && (as !== "happened" || parsed !== undefined)}
      act={resolve}
      onClose={onClose}
    >
      <p>
        Attempt {step.attempts} of <SafeText text={step.spec.name} /> was cut off
        {attempt !== undefined && (
          <>
            {" "}
            <RelativeTime at={attempt.started_at} />
          </>
        )}
        . Look in the outside world before you answer.
      </p>
      <DoubtEvidence history={history} />
      <fieldset class="choices">
        <legend>The answer</legend>
        {choices.map((choice) => (
          <label key={choice.as} class="choice">
            <input type="radio" name="as" checked={as === choice.as} onChange={() => setAs(choice.as)} />
            <span>
              {choice.words} <span class="soft small">{choice.effect}</span>
            </span>
          </label>
        ))}
      </fieldset>
      {as === "happened" && (
        <label>
          Output, as JSON
          <textarea rows={4} value={output} onInput={(event) => setOutput(event.currentTarget.value)} />
          {parsed === undefined && <span class="field-problem">This is no JSON.</span>}
        </label>
      )}
    </RunActionDialog>
  );
}

/** The evidence so far: probes, late answers and earlier settlements. */
function DoubtEvidence({ history }: Pick<StepPartProps, "history">): VNode | null {
  if (history.doubts.length === 0) return null;
  return (
    <ul class="small">
      {history.doubts.map(({ text, position }) => (
        <li key={position}>
          <SafeText text={text} />
        </li>
      ))}
    </ul>
  );
}

function parseJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}
