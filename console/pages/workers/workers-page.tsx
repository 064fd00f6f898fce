import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { WaitingRun, WorkerView } from "../../../src/engine/api/workers-report.ts";
import { callRoute } from "../../api/call-route.ts";
import { DataTable, type TableColumn } from "../../components/data-table.tsx";
import { EmptyState } from "../../components/empty-state.tsx";
import { PageHeader } from "../../components/page-header.tsx";
import { ProblemNote } from "../../components/problem-note.tsx";
import { RelativeTime } from "../../components/relative-time.tsx";
import { RunLink } from "../../components/run-link.tsx";
import { SafeText } from "../../components/safe-text.tsx";
import { StatusPill } from "../../components/status-pill.tsx";
import { useServerValue } from "../../live/use-server-value.ts";
import { Halts } from "./halts.tsx";

/** A worker that dies sends no hint. */
const rereadMs = 5000;

/** The processes that execute runs, the runs that none continues, and the halts. */
export function WorkersPage(): VNode {
  const { value, problem, reload } = useServerValue("workers", () => callRoute("workers", {}), { follows: () => true });
  useEffect(() => {
    const timer = setInterval(() => !document.hidden && void reload(), rereadMs);
    return () => clearInterval(timer);
  }, [reload]);
  return (
    <>
      <PageHeader title="Workers">
        {value !== null && <span>{value.workers.length === 1 ? "1 worker" : `${value.workers.length} workers`}</span>}
      </PageHeader>
      <div class="stack">
        <ProblemNote problem={problem} onRetry={reload} />
        {value !== null && (
          <>
            <DataTable
              label="Workers"
              columns={workerColumns}
              rows={value.workers}
              keyOf={({ worker }) => worker}
              empty={
                <EmptyState title="No process executes runs">
                  <p>
                    Runs wait until one starts: <code>writ worker</code>, or a program that calls{" "}
                    <code>createEngine</code> with its tools.
                  </p>
                </EmptyState>
              }
            />
            <h2>Runs that no worker continues</h2>
            <DataTable
              label="Runs that no worker continues"
              columns={waitingColumns}
              rows={value.waiting}
              keyOf={({ run_id }) => run_id}
              empty={<p class="soft">There are none.</p>}
            />
          </>
        )}
        <Halts />
      </div>
    </>
  );
}

const workerColumns: readonly TableColumn<WorkerView>[] = [
  {
    title: "Worker",
    cell: ({ worker, host, pid }) => (
      <>
        <SafeText text={host ?? worker} />
        {pid !== null && <span class="soft same-line"> process {pid}</span>}
      </>
    ),
  },
  { title: "Version", cell: ({ version }) => version ?? "–", onNarrow: false },
  {
    title: "State",
    cell: ({ version, rules }) => {
      if (version === null) return <StatusPill status="gone" tone="danger" />;
      return rules === null ? (
        <StatusPill status="stopping" tone="hold" />
      ) : (
        <StatusPill status="working" tone="good" />
      );
    },
  },
  { title: "Runs", cell: ({ runs }) => <HeldRuns runs={runs} /> },
  { title: "Tools", fit: "wide", cell: ({ tools }) => <ToolNames tools={tools} /> },
  { title: "Notices", cell: ({ notices }) => (notices ? "delivers" : "–"), onNarrow: false },
];

const namesShown = 4;

function HeldRuns({ runs }: Pick<WorkerView, "runs">): VNode {
  if (runs.length === 0) return <span class="soft">idle</span>;
  return (
    <ul>
      {runs.slice(0, namesShown).map(({ run_id, since }) => (
        <li key={run_id}>
          <RunLink run_id={run_id} />{" "}
          <span class="soft small">
            <RelativeTime at={since} />
          </span>
        </li>
      ))}
      {runs.length > namesShown && <li class="soft small">and {runs.length - namesShown} more</li>}
    </ul>
  );
}

function ToolNames({ tools }: Pick<WorkerView, "tools">): VNode {
  const [isOpen, setOpen] = useState(false);
  if (tools.length === 0) return <span class="soft">none</span>;
  const shown = isOpen ? tools : tools.slice(0, namesShown);
  return (
    <span class="small">
      <SafeText text={shown.join(", ")} />
      {shown.length < tools.length && (
        <>
          {" "}
          <button type="button" class="side-action" onClick={() => setOpen(true)}>
            and {tools.length - shown.length} more
          </button>
        </>
      )}
    </span>
  );
}

const waitingColumns: readonly TableColumn<WaitingRun>[] = [
  { title: "Run", cell: ({ run_id }) => <RunLink run_id={run_id} /> },
  { title: "Why", cell: ({ reason_code }) => <span title={reason_code}>{reasons[reason_code]}</span> },
  {
    title: "Needs one of",
    fit: "wide",
    cell: ({ needs }) => <SafeText text={needs.length === 0 ? "any worker" : needs.join(", ")} />,
  },
];

const reasons: Readonly<Record<WaitingRun["reason_code"], string>> = {
  NO_WORKER: "no worker claims runs",
  TOOL_MISSING: "no worker has the tool",
  TOOL_CHANGED: "the tool has changed since the run was accepted",
  RULES_ELSEWHERE: "the workers with its rules lack its tool",
  RULES_MISSING: "its rules are pinned, and no worker has them",
  NO_NOTICES: "no worker delivers its notices",
};
