import type { VNode } from "preact";
import type { Json } from "../../../src/core/values/json.ts";
import { CopyButton } from "../../components/copy-button.tsx";
import { costText } from "../../components/cost-text.ts";
import { DataTable, type TableColumn } from "../../components/data-table.tsx";
import { JsonView } from "../../components/json-view.tsx";
import { RelativeTime } from "../../components/relative-time.tsx";
import { durationText } from "../../components/relative-time-text.ts";
import { SafeText } from "../../components/safe-text.tsx";
import { StatusPill } from "../../components/status-pill.tsx";
import type { Attempt, DoubtNote } from "./step-history.ts";
import { phaseWords } from "./step-look.ts";
import { StepPart, type StepPartProps } from "./step-part.tsx";
import { phaseTotals } from "./waterfall.ts";

/** The attempts, the ledger row with its receipt, the notices, and the events themselves. */
export function StepRecord({ loaded, step, history }: StepPartProps): VNode {
  const { view } = loaded;
  return (
    <>
      {history.doubts.length > 0 && (
        <StepPart title="Evidence" count={history.doubts.length}>
          {() => history.doubts.map((note, at) => <EvidenceNote key={at} note={note} />)}
        </StepPart>
      )}
      {history.attempts.length > 0 && (
        <StepPart title="Attempts" count={history.attempts.length}>
          {() => (
            <DataTable
              label="Attempts"
              columns={attemptColumns}
              rows={history.attempts}
              keyOf={({ first }) => String(first)}
              empty={null}
            />
          )}
        </StepPart>
      )}
      {step.act !== null && <StepPart title="Ledger">{() => <LedgerFacts step={step} history={history} />}</StepPart>}
      <StepPart title="Times" isOpen={false}>
        {() => <StepTimes {...{ loaded, history }} />}
      </StepPart>
      {history.notices.length > 0 && (
        <StepPart title="Notices" count={history.notices.length} isOpen={false}>
          {() =>
            history.notices.map(({ notice_id, topic, payload }) => (
              <div key={notice_id} class="stack-small">
                <p class="step-line">
                  <b>
                    <SafeText text={topic} />
                  </b>
                  <StatusPill
                    status={view.run.notices.has(notice_id) ? "not delivered yet" : "delivered"}
                    tone={view.run.notices.has(notice_id) ? "hold" : "good"}
                  />
                </p>
                <JsonView value={payload} label={`Payload of ${topic}`} foldFrom={1} />
              </div>
            ))
          }
        </StepPart>
      )}
      <StepPart title="Events as JSON" count={history.positions.length} isOpen={false}>
        {() => (
          <JsonView
            value={history.positions.map((position) => view.entries[position - 1]) as unknown as Json}
            label="Events of the step"
            foldFrom={3}
          />
        )}
      </StepPart>
    </>
  );
}

const attemptColumns: readonly TableColumn<Attempt>[] = [
  { title: "Attempt", cell: ({ number }) => number, fit: "number" },
  {
    title: "Outcome",
    cell: ({ outcome, fault, external }) => (
      <>
        {outcome}
        {external && <span class="soft small"> by the host</span>}
        {fault !== null && (
          <p class="small">
            <code>{fault.code}</code> <SafeText text={fault.message} />
          </p>
        )}
      </>
    ),
    fit: "wide",
  },
  { title: "Started", cell: ({ started_at }) => <RelativeTime at={started_at} /> },
  {
    title: "Took",
    cell: ({ started_at, ended_at }) => (ended_at === null ? "" : durationText(ended_at - started_at)),
  },
  { title: "Cost", cell: ({ cost }) => (cost === null ? "" : costText(cost)), onNarrow: false },
];

function EvidenceNote({ note: { at, text, evidence, position } }: { readonly note: DoubtNote }): VNode {
  return (
    <div class="stack-small">
      <p>
        <SafeText text={text} />{" "}
        <span class="soft small">
          <RelativeTime at={at} /> · event {position}
        </span>
      </p>
      {evidence !== null && <JsonView value={evidence} label="Evidence" />}
    </div>
  );
}

function LedgerFacts({ step, history }: Pick<StepPartProps, "step" | "history">): VNode | null {
  const { act, call } = step;
  if (act === null) return null;
  const key = call?.key ?? history.call?.key ?? null;
  return (
    <dl class="facts">
      <dt>State</dt>
      <dd>
        <StatusPill status={act.state} />
      </dd>
      {key !== null && (
        <>
          <dt>Key</dt>
          <dd>
            <code>{key}</code> <CopyButton text={() => key} label="Copy the key" />
            <span class="soft small"> by {call?.keyed_by}</span>
          </dd>
        </>
      )}
      <dt>Receipt</dt>
      <dd>{act.receipt === null ? "none: nothing proves that it happened" : `event ${act.receipt}`}</dd>
      <dt>Generation</dt>
      <dd>
        {act.generation}, row version {act.version}
      </dd>
      <dt>Sent</dt>
      <dd>
        {act.sends} {act.sends === 1 ? "time" : "times"} under this key, first <RelativeTime at={act.sent_at} />
      </dd>
      {act.verified !== null && (
        <>
          <dt>Verified</dt>
          <dd>
            {act.verified.found.replace("_", " ")}
            {act.verified.why !== null && (
              <>
                : <SafeText text={act.verified.why} />
              </>
            )}
          </dd>
        </>
      )}
      {act.superseded === true && (
        <>
          <dt>Superseded</dt>
          <dd>a later generation has the row</dd>
        </>
      )}
    </dl>
  );
}

function StepTimes({ loaded, history }: Pick<StepPartProps, "loaded" | "history">): VNode {
  const totals = phaseTotals(history, loaded.view.run.ended?.at ?? Date.now());
  return (
    <dl class="facts">
      <dt>Proposed</dt>
      <dd>
        <RelativeTime at={history.proposed_at} />
      </dd>
      {(Object.keys(totals) as (keyof typeof totals)[])
        .filter((kind) => totals[kind] > 0)
        .map((kind) => (
          <>
            <dt>{phaseWords[kind]}</dt>
            <dd>{durationText(totals[kind])}</dd>
          </>
        ))}
    </dl>
  );
}
