import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { UndoneAct } from "../../../src/core/event/undone-act.ts";
import { callRoute } from "../../api/call-route.ts";
import { Dialog } from "../../components/dialog.tsx";
import { RelativeTime } from "../../components/relative-time.tsx";
import { SafeText } from "../../components/safe-text.tsx";
import { StatusPill } from "../../components/status-pill.tsx";
import { useServerValue } from "../../live/use-server-value.ts";
import { type ActToUndo, blastRadius } from "./blast-radius.ts";
import { RunActionDialog } from "./run-action-dialog.tsx";
import type { LoadedRun } from "./use-run.ts";

interface UndoDialogProps {
  readonly loaded: LoadedRun;
  readonly onClose: () => void;
}

const outlooks: Readonly<
  Record<ActToUndo["outlook"], { readonly words: string; readonly tone: "good" | "danger" | "soft" | "hold" }>
> = {
  undo: { words: "will be undone", tone: "good" },
  keep: { words: "cannot be undone", tone: "danger" },
  done: { words: "undone already", tone: "soft" },
  unknown: { words: "its tool is not on this server", tone: "hold" },
};

/** Lists every act that an undo concerns before it is confirmed, and what became of each after it. */
export function UndoDialog({ loaded, onClose }: UndoDialogProps): VNode {
  const { run } = loaded.view;
  const [report, setReport] = useState<readonly UndoneAct[] | null>(null);
  const tools = useServerValue("tools", () => callRoute("tools.list", {}));
  const known = new Map((tools.value ?? []).map(({ name, can_undo }) => [name, can_undo]));
  const acts = blastRadius(loaded.view, (tool) => known.get(tool));
  if (report !== null) return <UndoReportDialog report={report} onClose={onClose} />;
  const count = acts.filter(({ outlook }) => outlook === "undo").length;
  const kept = acts.filter(({ outlook }) => outlook === "keep").length;
  return (
    <RunActionDialog
      title="Undo the acts of the run"
      does={`Undo ${count} ${count === 1 ? "act" : "acts"}`}
      isDangerous
      isReady={acts.some(({ outlook }) => outlook === "undo" || outlook === "unknown")}
      act={async (reason) => {
        setReport(await callRoute("undo", { run_id: run.id, ...(reason !== undefined && { reason }) }));
      }}
      onClose={onClose}
      onDone={() => {}}
    >
      <p>
        The latest act is undone first, each by the compensation of its tool. State and files stay as they are.
        {kept > 0 && ` ${kept} ${kept === 1 ? "act stays" : "acts stay"} in effect.`}
      </p>
      <ol class="acts">
        {acts.map(({ step_id, tool, state, started_at, outlook, usedBy }) => (
          <li key={step_id}>
            <p class="step-line">
              <StatusPill status={outlooks[outlook].words} tone={outlooks[outlook].tone} />
              <b>
                <SafeText text={step_id} />
              </b>
              <SafeText text={tool} />
              <span class="soft small">
                {state.replaceAll("_", " ")}, <RelativeTime at={started_at} />
              </span>
            </p>
            {usedBy.length > 0 && (
              <p class="small soft">
                Steps that used its output, and stay as they are: <SafeText text={usedBy.join(", ")} />
              </p>
            )}
          </li>
        ))}
      </ol>
    </RunActionDialog>
  );
}

const reportTones = {
  confirmed: "good",
  unconfirmed: "hold",
  irreversible: "danger",
  failed: "danger",
  not_attempted: "hold",
} as const;

function UndoReportDialog({
  report,
  onClose,
}: {
  readonly report: readonly UndoneAct[];
  readonly onClose: () => void;
}): VNode {
  return (
    <Dialog title="The undo has ended" onClose={onClose}>
      <ol class="acts">
        {report.map(({ step_id, tool, undone, why }) => (
          <li key={step_id}>
            <p class="step-line">
              <StatusPill status={undone} tone={reportTones[undone]} />
              <b>
                <SafeText text={step_id} />
              </b>
              <SafeText text={tool} />
            </p>
            {why !== null && (
              <p class="small soft">
                <SafeText text={why} />
              </p>
            )}
          </li>
        ))}
      </ol>
      <div class="actions">
        <button type="button" class="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  );
}
