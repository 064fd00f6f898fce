import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { callRoute } from "../../api/call-route.ts";
import { SafeText } from "../../components/safe-text.tsx";
import { BeforeOrAfterChoice } from "./before-or-after-choice.tsx";
import { RunActionDialog } from "./run-action-dialog.tsx";
import type { StepPartProps } from "./step-part.tsx";

/** Starts a new run that continues from a checkpoint of this one. */
export function ForkDialog({ loaded, step, onClose }: StepPartProps & { readonly onClose: () => void }): VNode {
  const { route } = useLocation();
  const [side, setSide] = useState<"before" | "after">("before");
  const [files, setFiles] = useState<"" | "restore" | "leave">("");
  const fork = async () => {
    const at = { runId: loaded.view.run_id, stepId: step.spec.step_id, side };
    const { run_id } = await callRoute("checkpoints.fork", { at, ...(files !== "" && { files }) });
    route(`/runs/${encodeURIComponent(run_id)}`);
  };
  return (
    <RunActionDialog title="Fork from here" does="Start the new run" hasReason={false} act={fork} onClose={onClose}>
      <p>
        A new run continues from <SafeText text={step.spec.step_id} /> with a state of its own. Steps that were done
        before this moment stay done. Acts that were made after it are found, and are not made a second time without a
        person.
      </p>
      <BeforeOrAfterChoice side={side} onSide={setSide} />
      <label>
        Files that later calls have changed
        <select value={files} onChange={(event) => setFiles(event.currentTarget.value as typeof files)}>
          <option value="">there are none</option>
          <option value="restore">restore them, too</option>
          <option value="leave">leave them as they are</option>
        </select>
      </label>
    </RunActionDialog>
  );
}
