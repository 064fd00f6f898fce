import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { ScheduleRow } from "../../../src/core/store/tables.ts";
import { hasScope } from "../../api/browser-login.ts";
import { callRoute } from "../../api/call-route.ts";
import { ActionDialog } from "../../components/action-dialog.tsx";
import { DataTable, type TableColumn } from "../../components/data-table.tsx";
import { EmptyState } from "../../components/empty-state.tsx";
import { PageHeader } from "../../components/page-header.tsx";
import { ProblemNote } from "../../components/problem-note.tsx";
import { RelativeTime } from "../../components/relative-time.tsx";
import { RunLink } from "../../components/run-link.tsx";
import { SafeText } from "../../components/safe-text.tsx";
import { StatusPill } from "../../components/status-pill.tsx";
import { useServerValue } from "../../live/use-server-value.ts";
import { ScheduleForm } from "./schedule-form.tsx";

const missedWords: Readonly<Record<ScheduleRow["catch_up"], string>> = {
  latest: "submits the latest",
  all: "submits all",
  none: "submits none",
};

type ScheduleAction = "pause" | "resume" | "remove";

/** Plans that are submitted at set times. */
export function SchedulesPage(): VNode {
  const { value, problem, reload } = useServerValue("schedules", () => callRoute("schedules.list", {}), {
    follows: () => true,
  });
  const [asked, setAsked] = useState<{ readonly action: ScheduleAction; readonly row: ScheduleRow } | null>(null);
  const [isNew, setNew] = useState(false);
  const canAct = hasScope("admin");
  return (
    <>
      <PageHeader
        title="Schedules"
        actions={
          <button type="button" class="button" disabled={!canAct} onClick={() => setNew(true)}>
            New schedule
          </button>
        }
      />
      <div class="stack">
        <ProblemNote problem={problem} onRetry={reload} />
        {value !== null && (
          <DataTable
            label="Schedules"
            columns={columns(canAct, (action, row) => setAsked({ action, row }))}
            rows={value}
            keyOf={({ schedule }) => schedule}
            empty={<NoSchedules />}
          />
        )}
      </div>
      {isNew && <ScheduleForm onClose={() => setNew(false)} onSaved={reload} />}
      {asked !== null && <AskedAction {...asked} onDone={reload} onClose={() => setAsked(null)} />}
    </>
  );
}

function columns(
  canAct: boolean,
  ask: (action: ScheduleAction, row: ScheduleRow) => void,
): readonly TableColumn<ScheduleRow>[] {
  return [
    { title: "Schedule", fit: "wide", cell: ({ schedule }) => <SafeText text={schedule} /> },
    {
      title: "State",
      cell: ({ status }) => <StatusPill status={status} tone={status === "on" ? "good" : "hold"} />,
    },
    {
      title: "Times",
      cell: ({ cron, zone }) => (
        <>
          <code>{cron}</code> <span class="soft small">{zone}</span>
        </>
      ),
    },
    { title: "Next", cell: ({ next_at }) => (next_at === null ? "–" : <RelativeTime at={next_at} />) },
    { title: "Last", cell: ({ last }) => <LastSubmission last={last} /> },
    { title: "Missed times", cell: ({ catch_up }) => missedWords[catch_up], onNarrow: false },
    {
      title: "Actions",
      cell: (row) => (
        <span class="row-actions">
          <button
            type="button"
            class="button button-quiet"
            disabled={!canAct}
            onClick={() => ask(row.status === "on" ? "pause" : "resume", row)}
          >
            {row.status === "on" ? "Pause" : "Continue"}
          </button>
          <button type="button" class="button button-danger" disabled={!canAct} onClick={() => ask("remove", row)}>
            Remove
          </button>
        </span>
      ),
    },
  ];
}

function LastSubmission({ last }: Pick<ScheduleRow, "last">): VNode {
  if (last === null) return <span class="soft">never</span>;
  return (
    <>
      <RelativeTime at={last.due_at} /> {last.run_id !== null && <RunLink run_id={last.run_id} />}
      {last.fault !== null && (
        <span class="field-problem">
          <SafeText text={last.fault.message} />
        </span>
      )}
    </>
  );
}

const words = {
  pause: {
    title: "Pause",
    about: "No run is submitted until the schedule continues. Submitted runs are not affected.",
  },
  resume: { title: "Continue", about: "It continues with its next time. Times that were missed are not submitted." },
  remove: { title: "Remove", about: "The schedule and its plan are removed. Submitted runs are not affected." },
} as const;

function AskedAction({
  action,
  row: { schedule },
  onDone,
  onClose,
}: {
  readonly action: ScheduleAction;
  readonly row: ScheduleRow;
  readonly onDone: () => Promise<void>;
  readonly onClose: () => void;
}): VNode {
  const { title, about } = words[action];
  return (
    <ActionDialog
      title={`${title} the schedule`}
      action={title}
      isDangerous={action === "remove"}
      onClose={onClose}
      onAct={async () => {
        await callRoute(`schedules.${action}`, { schedule });
        await onDone();
      }}
    >
      <p>
        <SafeText text={schedule} />
      </p>
      <p class="soft">{about}</p>
    </ActionDialog>
  );
}

function NoSchedules(): VNode {
  return (
    <EmptyState title="Nothing is scheduled">
      <p>
        A schedule submits a plan at every time that matches a cron expression, such as <code>0 9 * * 1-5</code> for
        nine o'clock on working days. Make one here, or with <code>writ schedule</code>.
      </p>
    </EmptyState>
  );
}
