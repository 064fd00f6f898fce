import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import type { ProjectVersion } from "../../../src/engine/api/project-api.ts";
import { hasScope } from "../../api/browser-login.ts";
import { callRoute } from "../../api/call-route.ts";
import { ActionDialog } from "../../components/action-dialog.tsx";
import { SafeText } from "../../components/safe-text.tsx";

interface VersionActionsProps {
  readonly project: string;
  readonly version: number;
  readonly isLatest: boolean;
  /** The call that made the version. Null: it is not among those that are listed. */
  readonly made: ProjectVersion | null;
}

/** Restores a version, or starts a run that continues from it. */
export function VersionActions({ project, version, isLatest, made }: VersionActionsProps): VNode {
  const [asked, setAsked] = useState<"revert" | "fork" | null>(null);
  const stepId = made?.step_id ?? null;
  return (
    <span class="row-actions">
      <button
        type="button"
        class="button button-quiet"
        disabled={isLatest || !hasScope("decide")}
        onClick={() => setAsked("revert")}
      >
        Restore this version…
      </button>
      <button
        type="button"
        class="button button-quiet"
        disabled={stepId === null || !hasScope("submit")}
        onClick={() => setAsked("fork")}
      >
        Fork from here…
      </button>
      {asked === "revert" && <RevertDialog project={project} version={version} onClose={() => setAsked(null)} />}
      {asked === "fork" && made !== null && stepId !== null && (
        <ForkDialog runId={made.run_id} stepId={stepId} onClose={() => setAsked(null)} />
      )}
    </span>
  );
}

function RevertDialog({
  project,
  version,
  onClose,
}: {
  readonly project: string;
  readonly version: number;
  readonly onClose: () => void;
}): VNode {
  const { route } = useLocation();
  return (
    <ActionDialog
      title={`Restore version ${version}`}
      action="Restore"
      onClose={onClose}
      onAct={async () => {
        const { run_id } = await callRoute("projects.revert", {
          project,
          version,
          title: `Restore version ${version}`,
        });
        route(`/runs/${encodeURIComponent(run_id)}`);
      }}
    >
      <p>
        The state of version {version} becomes a new version. Nothing is deleted: the versions in between stay, logs
        stay, and caches are emptied.
      </p>
      <p class="soft">It is a run of its own, which the rules may hold for another person.</p>
    </ActionDialog>
  );
}

function ForkDialog({
  runId,
  stepId,
  onClose,
}: {
  readonly runId: string;
  readonly stepId: string;
  readonly onClose: () => void;
}): VNode {
  const { route } = useLocation();
  const [files, setFiles] = useState<"" | "restore" | "leave">("");
  return (
    <ActionDialog
      title="Fork from this version"
      action="Fork"
      onClose={onClose}
      onAct={async () => {
        const at = { runId, stepId, side: "after" } as const;
        const { run_id } = await callRoute("checkpoints.fork", { at, ...(files !== "" && { files }) });
        route(`/runs/${encodeURIComponent(run_id)}`);
      }}
    >
      <p>
        A new run continues the plan after step <SafeText text={stepId} />, with a state of its own. Steps that are done
        stay done, and no act is repeated.
      </p>
      <label>
        Files that were changed since
        <select value={files} onChange={({ currentTarget }) => setFiles(currentTarget.value as typeof files)}>
          <option value="">there are none</option>
          <option value="restore">restore them</option>
          <option value="leave">leave them as they are</option>
        </select>
      </label>
    </ActionDialog>
  );
}
