import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { Halt } from "../../../src/core/store/tables.ts";
import { hasScope } from "../../api/browser-login.ts";
import { callRoute } from "../../api/call-route.ts";
import { ActionDialog } from "../../components/action-dialog.tsx";
import { DataTable, type TableColumn } from "../../components/data-table.tsx";
import { ProblemNote } from "../../components/problem-note.tsx";
import { RelativeTime } from "../../components/relative-time.tsx";
import { RunLink } from "../../components/run-link.tsx";
import { SafeText } from "../../components/safe-text.tsx";
import { useServerValue } from "../../live/use-server-value.ts";

/** The halts in force, with the way to set and to lift one. */
export function Halts(): VNode {
  const { value, problem, reload } = useServerValue("halts", () => callRoute("halts.list", {}));
  const [lifted, setLifted] = useState<Halt | null>(null);
  const [isSetting, setSetting] = useState(false);
  const canAct = hasScope("admin");
  const columns: readonly TableColumn<Halt>[] = [
    { title: "Stops", cell: ({ over }) => <HaltScopeText over={over} /> },
    { title: "Reason", fit: "wide", cell: ({ reason }) => <SafeText text={reason} /> },
    { title: "By", cell: ({ by }) => <SafeText text={by} /> },
    { title: "Since", cell: ({ at }) => <RelativeTime at={at} /> },
    {
      title: "Action",
      cell: (halt) => (
        <button type="button" class="button button-quiet" disabled={!canAct} onClick={() => setLifted(halt)}>
          Lift…
        </button>
      ),
    },
  ];
  return (
    <section class="stack" aria-label="Halts">
      <div class="section-head">
        <h2>Halts</h2>
        <button type="button" class="button button-danger" disabled={!canAct} onClick={() => setSetting(true)}>
          Stop new calls…
        </button>
      </div>
      <ProblemNote problem={problem} onRetry={reload} />
      <DataTable
        label="Halts"
        columns={columns}
        rows={value ?? []}
        keyOf={({ over }) => over}
        empty={<p class="soft">No halt is in force: calls start as their rules allow.</p>}
      />
      {isSetting && <SetDialog onClose={() => setSetting(false)} onDone={reload} />}
      {lifted !== null && <LiftDialog halt={lifted} onClose={() => setLifted(null)} onDone={reload} />}
    </section>
  );
}

interface HaltDialogProps {
  readonly onClose: () => void;
  readonly onDone: () => Promise<void>;
}

function SetDialog({ onClose, onDone }: HaltDialogProps): VNode {
  return (
    <ActionDialog
      title="Stop new calls of this tenant"
      action="Stop new calls"
      isDangerous
      reason="required"
      onClose={onClose}
      onAct={async (reason) => {
        await callRoute("halts.set", { reason });
        await onDone();
      }}
    >
      <p class="soft">No call of any run starts until a person lifts the halt. Calls that are under way end.</p>
    </ActionDialog>
  );
}

function LiftDialog({ halt, onClose, onDone }: HaltDialogProps & { readonly halt: Halt }): VNode {
  return (
    <ActionDialog
      title="Lift the halt"
      action="Lift the halt"
      reason="optional"
      onClose={onClose}
      onAct={async (reason) => {
        await callRoute("halts.lift", { ...scopeOf(halt), ...(reason !== "" && { reason }) });
        await onDone();
      }}
    >
      <p>
        <SafeText text={halt.reason} />
      </p>
      <p class="soft">The steps that wait continue at once.</p>
    </ActionDialog>
  );
}

function scopeOf({ over }: Halt): { readonly runId?: string; readonly everything?: true } {
  if (over === "everything") return { everything: true };
  return over === "tenant" ? {} : { runId: over };
}

function HaltScopeText({ over }: Pick<Halt, "over">): VNode {
  if (over === "everything") return <>all tenants</>;
  return over === "tenant" ? <>this tenant</> : <RunLink run_id={over} />;
}
