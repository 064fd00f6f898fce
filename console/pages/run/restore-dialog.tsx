import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { callRoute } from "../../api/call-route.ts";
import { ProblemNote } from "../../components/problem-note.tsx";
import { SafeText } from "../../components/safe-text.tsx";
import { useServerValue } from "../../live/use-server-value.ts";
import { BeforeOrAfterChoice } from "./before-or-after-choice.tsx";
import { RunActionDialog } from "./run-action-dialog.tsx";
import type { RunView } from "./run-view.ts";
import type { StepPartProps } from "./step-part.tsx";

const shownMax = 30;

/** Restores the state and files of a checkpoint. Shows first what would change back. */
export function RestoreDialog({ loaded, step, onClose }: StepPartProps & { readonly onClose: () => void }): VNode {
  const [side, setSide] = useState<"before" | "after">("before");
  const { view } = loaded;
  const at = { runId: view.run_id, stepId: step.spec.step_id, side };
  const last = lastCheckpoint(view);
  const difference = useServerValue(`${step.spec.step_id} ${side} ${last}`, () =>
    callRoute("checkpoints.diff", { from: { runId: view.run_id, stepId: last, side: "after" }, to: at }),
  );
  const { value, problem } = difference;
  const files = Object.values(value?.files ?? {}).flat();
  return (
    <RunActionDialog
      title="Restore to here"
      does="Restore state and files"
      isDangerous
      isReady={value !== null}
      act={(reason) => callRoute("checkpoints.restore", { at, ...(reason !== undefined && { reason }) })}
      onClose={onClose}
    >
      <p>
        State and files get the contents of this moment, as a new version. Acts in the outside world stay, and so does
        the journal.
      </p>
      <BeforeOrAfterChoice side={side} onSide={setSide} />
      <ProblemNote problem={problem} />
      {value !== null && (
        <>
          <p>
            Since <SafeText text={last} />, this changes {value.state.length} places of the state and {files.length}{" "}
            files.
          </p>
          <ul class="files small">
            {value.state.slice(0, shownMax).map(({ path }) => (
              <li key={path}>
                <code>
                  <SafeText text={path} />
                </code>
              </li>
            ))}
            {files.slice(0, shownMax).map(({ path, change }) => (
              <li key={path}>
                <code>
                  <SafeText text={path} />
                </code>{" "}
                <span class="soft">{change}</span>
              </li>
            ))}
          </ul>
        </>
      )}
    </RunActionDialog>
  );
}

/** Returns the step whose call ended last and left a checkpoint: the state of this run as it is now. */
function lastCheckpoint(view: RunView): string {
  let [found, position] = ["", -1];
  for (const { checkpoint, spec } of view.run.steps)
    if (checkpoint !== null && checkpoint.position > position) [found, position] = [spec.step_id, checkpoint.position];
  return found;
}
