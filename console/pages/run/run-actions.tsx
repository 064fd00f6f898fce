import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { isRunResumable } from "../../../src/core/run/step-transition.ts";
import type { Json } from "../../../src/core/values/json.ts";
import { hasScope } from "../../api/browser-login.ts";
import { callRoute } from "../../api/call-route.ts";
import { Dialog } from "../../components/dialog.tsx";
import { JsonView } from "../../components/json-view.tsx";
import { RunActionDialog } from "./run-action-dialog.tsx";
import { UndoDialog } from "./undo-dialog.tsx";
import type { LoadedRun } from "./use-run.ts";

type RunAction = "cancel" | "resume" | "undo" | "json";

/** The actions of a run. Each is confirmed, and says what it does before it does it. */
export function RunActions({ loaded }: { readonly loaded: LoadedRun }): VNode {
  const [open, setOpen] = useState<RunAction | null>(null);
  const { view } = loaded;
  const { run } = view;
  const close = () => setOpen(null);
  const canCancel = loaded.isCaughtUp && run.ended === null && run.cancel === null && hasScope("submit");
  const canResume = hasScope("submit") && (run.parked !== null || isUnfinished(loaded));
  const canUndo = hasScope("decide") && hasActs(loaded);
  const run_id = run.id;
  return (
    <>
      {canResume && <OpenButton action="resume" words="Resume" onOpen={setOpen} />}
      {canUndo && <OpenButton action="undo" words="Undo…" onOpen={setOpen} />}
      {canCancel && <OpenButton action="cancel" words="Cancel" onOpen={setOpen} />}
      <OpenButton action="json" words="JSON" onOpen={setOpen} />
      <a class="button button-quiet" href={`/v1/runs/${encodeURIComponent(run_id)}/export`} download={`${run_id}.json`}>
        Export
      </a>
      {open === "cancel" && (
        <RunActionDialog
          title="Cancel the run"
          does="Cancel the run"
          isDangerous
          act={(reason) => callRoute("run.cancel", { run_id, ...(reason !== undefined && { reason }) })}
          onClose={close}
        >
          <p>
            No further step starts. Acts that are under way end by themselves, and nothing that has happened is undone.
          </p>
        </RunActionDialog>
      )}
      {open === "resume" && <ResumeDialog loaded={loaded} onClose={close} />}
      {open === "undo" && <UndoDialog loaded={loaded} onClose={close} />}
      {open === "json" && (
        <Dialog title="The run as JSON" onClose={close} place="side">
          <JsonView value={view.result() as unknown as Json} label="Result of the run" foldFrom={2} />
          <JsonView value={view.entries as unknown as Json} label="Journal" foldFrom={1} />
        </Dialog>
      )}
    </>
  );
}

interface OpenButtonProps {
  readonly action: RunAction;
  readonly words: string;
  readonly onOpen: (action: RunAction) => void;
}

function OpenButton({ action, words, onOpen }: OpenButtonProps): VNode {
  return (
    <button type="button" class="button button-quiet" onClick={() => onOpen(action)}>
      {words}
    </button>
  );
}

function isUnfinished({ view: { run } }: LoadedRun): boolean {
  return (run.ended?.status === "partial" || run.ended?.status === "failed") && isRunResumable(run);
}

function hasActs({ view }: LoadedRun): boolean {
  for (const { act } of view.run.steps) if (act !== null) return true;
  return false;
}

function ResumeDialog({
  loaded: { view },
  onClose,
}: {
  readonly loaded: LoadedRun;
  readonly onClose: () => void;
}): VNode {
  const { route } = useLocation();
  const { run } = view;
  const resume = async (reason: string | undefined) => {
    const { run_id } = await callRoute("resume", { run_id: run.id, ...(reason !== undefined && { reason }) });
    if (run_id !== run.id) route(`/runs/${encodeURIComponent(run_id)}`);
  };
  return (
    <RunActionDialog title="Resume the run" does="Resume the run" act={resume} onClose={onClose}>
      <p>
        {run.parked === null
          ? "Failed steps are tried again. Steps that succeeded stay done, and no act is repeated on a guess."
          : "The run was parked. Its steps start again under the rules of now."}
      </p>
    </RunActionDialog>
  );
}
