import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { BackupRecord } from "../../../src/core/settings/backup.ts";
import type { RetentionRecord } from "../../../src/core/settings/retention-events.ts";
import type { AuditReport } from "../../../src/engine/api/engine-api.ts";
import { callRoute } from "../../api/call-route.ts";
import { type ApiProblem, toProblem } from "../../api/problem.ts";
import { useUrlQuery } from "../../app/url-query.ts";
import { countText } from "../../components/amount-text.ts";
import { DataTable, type TableColumn } from "../../components/data-table.tsx";
import { PageHeader } from "../../components/page-header.tsx";
import { ProblemNote } from "../../components/problem-note.tsx";
import { RelativeTime } from "../../components/relative-time.tsx";
import { durationText } from "../../components/relative-time-text.ts";
import { SafeText } from "../../components/safe-text.tsx";
import { useServerValue } from "../../live/use-server-value.ts";
import { AuditFindings } from "./audit-findings.tsx";
import "./audit-page.css";

/** Verifies the record, and shows what was erased and copied. */
export function AuditPage(): VNode {
  const { query, change } = useUrlQuery();
  const { done, problem, isBusy, audit } = useAudit();
  return (
    <>
      <PageHeader title="Audit" />
      <div class="stack">
        <section class="panel" aria-label="Verify the record">
          <form
            class="panel-body audit-form"
            onSubmit={(event) => {
              event.preventDefault();
              void audit(query.run ?? "");
            }}
          >
            <p>
              Every event is chained by its hash to the one before it. An audit reads the journals again, folds every
              row and every sum from them, and compares.
            </p>
            <div class="audit-fields">
              <label class="field">
                Run (empty: all runs)
                <input
                  type="text"
                  class="mono"
                  value={query.run ?? ""}
                  placeholder="run_…"
                  onInput={({ currentTarget }) => change({ run: currentTarget.value.trim() })}
                />
              </label>
              <button type="submit" class="button" disabled={isBusy}>
                {isBusy ? "Verifying…" : "Verify the record"}
              </button>
            </div>
          </form>
        </section>
        <ProblemNote problem={problem} />
        {done !== null && <AuditDone done={done} />}
        <Retentions />
        <Backups />
      </div>
    </>
  );
}

interface DoneAudit {
  readonly report: AuditReport;
  readonly at: number;
  readonly ms: number;
}

function useAudit() {
  const [done, setDone] = useState<DoneAudit | null>(null);
  const [problem, setProblem] = useState<ApiProblem | null>(null);
  const [isBusy, setBusy] = useState(false);
  const audit = async (runId: string) => {
    setBusy(true);
    setProblem(null);
    setDone(null);
    const started = performance.now();
    try {
      const report = await callRoute("audit", runId === "" ? {} : { runId });
      setDone({ report, ms: performance.now() - started, at: Date.now() });
    } catch (error) {
      setProblem(toProblem(error));
    }
    setBusy(false);
  };
  return { done, problem, isBusy, audit };
}

function AuditDone({ done: { report, at, ms } }: { readonly done: DoneAudit }): VNode {
  const { runs, events, erased } = report;
  return (
    <>
      <p class="soft small">
        Verified <RelativeTime at={at} /> in {durationText(ms)}: {countText(runs)} {runs === 1 ? "journal" : "journals"}
        , {countText(events)} events
        {erased > 0 && `, ${countText(erased)} of them erased`}.
      </p>
      <AuditFindings report={report} />
    </>
  );
}

function Retentions(): VNode {
  const { value, problem, reload } = useServerValue("retentions", () => callRoute("retentions", {}));
  return (
    <section class="stack" aria-label="Retentions">
      <h2>Retentions</h2>
      <ProblemNote problem={problem} onRetry={reload} />
      <DataTable
        label="Retentions"
        columns={retentionColumns}
        rows={value ?? []}
        keyOf={({ at, by }) => `${at} ${by}`}
        empty={
          <p class="soft">
            Nothing was erased. <code>writ retain</code> erases the contents of old runs and keeps their hashes.
          </p>
        }
      />
    </section>
  );
}

const retentionColumns: readonly TableColumn<RetentionRecord>[] = [
  { title: "When", cell: ({ at }) => <RelativeTime at={at} /> },
  { title: "By", cell: ({ by }) => <SafeText text={by} /> },
  { title: "Reason", fit: "wide", cell: ({ reason }) => <SafeText text={reason === "" ? "–" : reason} /> },
  { title: "Runs ended before", cell: ({ ended_before }) => <RelativeTime at={ended_before} />, onNarrow: false },
  {
    title: "Erased",
    fit: "number",
    cell: ({ erased }) =>
      erased === null ? "not finished" : `${erased.runs} runs, ${countText(erased.events)} events`,
  },
];

function Backups(): VNode {
  const { value, problem, reload } = useServerValue("backups", () => callRoute("backups", {}));
  return (
    <section class="stack" aria-label="Backups">
      <h2>Backups</h2>
      <ProblemNote problem={problem} onRetry={reload} />
      <DataTable
        label="Backups"
        columns={backupColumns}
        rows={value ?? []}
        keyOf={({ at, by }) => `${at} ${by}`}
        empty={
          <p class="soft">
            There is no backup on record. <code>writ backup file.db</code> copies the store while it is in use.
          </p>
        }
      />
    </section>
  );
}

const backupColumns: readonly TableColumn<BackupRecord>[] = [
  { title: "When", cell: ({ at }) => <RelativeTime at={at} /> },
  { title: "By", cell: ({ by }) => <SafeText text={by} /> },
  {
    title: "What",
    fit: "wide",
    cell: (record) => <SafeText text={"file" in record ? `backup to ${record.file}` : "restore of a backup"} />,
  },
  { title: "Reason", cell: ({ reason }) => <SafeText text={reason === "" ? "–" : reason} /> },
];
