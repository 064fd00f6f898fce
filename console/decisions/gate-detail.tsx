import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { GateView } from "../../src/engine/api/list-api.ts";
import { pagePaths } from "../../src/http-api/page-paths.ts";
import { hasScope } from "../api/browser-login.ts";
import { callRoute } from "../api/call-route.ts";
import { estimateText } from "../components/cost-text.ts";
import { OutputView } from "../components/output-view.tsx";
import { PageHeader } from "../components/page-header.tsx";
import { ProblemNote } from "../components/problem-note.tsx";
import { RelativeTime } from "../components/relative-time.tsx";
import { SafeText } from "../components/safe-text.tsx";
import { StatusPill } from "../components/status-pill.tsx";
import { useServerValue } from "../live/use-server-value.ts";
import { type CallOutcome, callOutcome } from "./call-outcome.ts";
import { demandTexts } from "./demand-text.ts";
import { acceptToolName, DecisionPart, GateCall } from "./gate-call.tsx";
import { GateDecisionHistory, GateOutcome } from "./gate-decision-history.tsx";
import { GateForm } from "./gate-form.tsx";
import { type GateRecord, gateRecord } from "./gate-record.ts";
import { readRunEvents, runTitle } from "./read-run-events.ts";
import { StateChanges } from "./state-changes.tsx";
import { ToolHistory } from "./tool-history.tsx";

/** Everything that a person needs to decide a held call, and the decision. */
export function GateDetail({
  gate_id,
  level,
  onDecided,
}: {
  readonly gate_id: string;
  readonly level: 1 | 2;
  readonly onDecided?: () => void;
}): VNode {
  const { value, problem, reload } = useGate(gate_id);
  const [wasOpen, setWasOpen] = useState<string | null>(null);
  const [ownDecision, setOwnDecision] = useState<string | null>(null);
  const isOpen = value?.gate.status === "open";
  useEffect(() => {
    if (isOpen) setWasOpen(gate_id);
  }, [isOpen, gate_id]);
  if (value === null)
    return (
      <>
        <PageHeader level={level} title="Held call">
          <code>{gate_id}</code>
        </PageHeader>
        {problem === null ? <p class="soft">Reading …</p> : <ProblemNote problem={problem} onRetry={reload} />}
      </>
    );
  const { gate, record, outcome } = value;
  const isMeanwhile = !isOpen && wasOpen === gate_id && ownDecision !== gate_id;
  return (
    <article class="detail">
      <GateHeader gate={gate} record={record} runTitle={value.runTitle} level={level} />
      <div class="stack">
        <GateDecisionHistory gate={gate} record={record} isMeanwhile={isMeanwhile} />
        {outcome !== null && <GateOutcome gate={gate} outcome={outcome} />}
        <GateCall tool={gate.tool} input={gate.input} digest={gate.digest} />
        <GatePreview gate={gate} />
        <GateReasons gate={gate} record={record} />
        <GateDemand gate={gate} />
        <DecisionPart title="History with this tool">
          <ToolHistory tool={gate.tool} except={gate.gate_id} />
        </DecisionPart>
        {isOpen && hasScope("decide") && (
          <GateForm
            key={gate.digest}
            gate={gate}
            onDecided={async () => {
              setOwnDecision(gate_id);
              await reload();
              onDecided?.();
            }}
          />
        )}
        {isOpen && !hasScope("decide") && <p class="note">Your login may read, and not decide.</p>}
      </div>
    </article>
  );
}

interface GateWithRecord {
  readonly gate: GateView;
  readonly record: GateRecord | null;
  readonly outcome: CallOutcome | null;
  readonly runTitle: string | null;
}

function useGate(gate_id: string) {
  const run = { current: null as string | null };
  const read = async (): Promise<GateWithRecord> => {
    const gate = await callRoute("gate", { gate_id });
    const recorded = await readRunEvents(gate.run_id).catch(() => []);
    const events = recorded.map(({ event }) => event);
    return {
      gate,
      record: gateRecord(events, gate_id),
      outcome: callOutcome(events, gate_id, gate.step_id),
      runTitle: runTitle(events),
    };
  };
  const resource = useServerValue(gate_id, read, { follows: ({ run_id }) => run_id === run.current });
  run.current = resource.value?.gate.run_id ?? null;
  return resource;
}

function GateHeader({
  gate,
  record,
  runTitle,
  level,
}: Omit<GateWithRecord, "outcome"> & { readonly level: 1 | 2 }): VNode {
  const isToolChange = gate.tool === acceptToolName;
  return (
    <PageHeader
      level={level}
      title={
        <>
          <span class="unseen">{isToolChange ? "Changed tool" : "Held call"} </span>
          <span class="mono-title">
            <SafeText text={gate.tool} />
          </span>
        </>
      }
      beside={<StatusPill status={statusText(gate)} tone={gate.status === "open" ? "hold" : toneOf(gate)} />}
    >
      <span>
        requested by <SafeText text={gate.requester} />
      </span>
      <span>
        run{" "}
        <a href={pagePaths.step(gate.run_id, gate.step_id)} title={gate.run_id}>
          {runTitle === null ? `${gate.run_id.slice(0, 14)}…` : <SafeText text={runTitle} />}
        </a>
      </span>
      {record !== null && (
        <span>
          held <RelativeTime at={record.opened_at} />
        </span>
      )}
      {gate.status === "open" && (
        <span>
          expires <RelativeTime at={gate.expires_at} />
        </span>
      )}
    </PageHeader>
  );
}

function statusText({ status }: GateView): string {
  if (status === "open") return "waits for you";
  return status === "consumed" ? "approved" : status;
}

function toneOf({ status }: GateView): "good" | "danger" | "soft" {
  if (status === "approved" || status === "consumed") return "good";
  return status === "closed" ? "soft" : "danger";
}

function GateReasons({ gate, record }: Pick<GateWithRecord, "gate" | "record">): VNode {
  return (
    <DecisionPart title="Why it is held">
      <ul class="reasons">
        {(record?.objections ?? [{ rule: "", says: "hold" as const, reason: gate.reason }]).map(
          ({ rule, says, reason }) => (
            <li key={rule}>
              <StatusPill status={says} tone={says === "hold" ? "hold" : "danger"} />
              <span>
                <SafeText text={reason} />
                {rule !== "" && (
                  <>
                    {" "}
                    <code class="soft">
                      <SafeText text={rule} />
                    </code>
                  </>
                )}
              </span>
            </li>
          ),
        )}
        {(record?.passed ?? []).map((rule) => (
          <li key={rule}>
            <StatusPill status="allow" tone="good" />
            <code class="soft">
              <SafeText text={rule} />
            </code>
          </li>
        ))}
      </ul>
      {gate.stale !== undefined && (
        <p class="note note-hold">
          An earlier approval is no longer valid: <SafeText text={gate.stale.message} />
        </p>
      )}
      {gate.caution !== undefined && (
        <p class="note note-hold">
          Look twice: <SafeText text={gate.caution} />
        </p>
      )}
    </DecisionPart>
  );
}

function GatePreview({ gate }: { readonly gate: GateView }): VNode {
  const { preview, estimate, reversible, covers } = gate;
  const resources = Object.keys(preview?.pins.resources ?? {});
  return (
    <DecisionPart title="Expected changes">
      <dl class="facts">
        <dt>Cost</dt>
        <dd>{estimateText(estimate)}</dd>
        <dt>Can be undone</dt>
        <dd>{reversible === null ? "there is nothing to undo" : reversible ? "yes" : "no"}</dd>
        {covers !== undefined && (
          <>
            <dt>If the plan aborts</dt>
            <dd>its compensation undoes the act; the approval covers it</dd>
          </>
        )}
        {resources.length > 0 && (
          <>
            <dt>Changes files of</dt>
            <dd>
              <SafeText text={resources.join(", ")} />
            </dd>
          </>
        )}
      </dl>
      {preview === null && <p class="soft">The tool has no preview: its result is known after the call.</p>}
      {preview?.fault !== undefined && (
        <p class="note note-danger">
          The call would fail now: <SafeText text={preview.fault.message} />
        </p>
      )}
      {preview?.patch !== undefined && <StateChanges patch={preview.patch} />}
      {preview?.output !== undefined && (
        <>
          <p class="soft small">It would return</p>
          <OutputView value={preview.output} label="expected output" canCopy={false} />
        </>
      )}
    </DecisionPart>
  );
}

function GateDemand({ gate }: { readonly gate: GateView }): VNode {
  return (
    <DecisionPart title="Demanded approvals">
      <ul>
        {demandTexts(gate.demand).map((text) => (
          <li key={text}>
            <SafeText text={text} />
          </li>
        ))}
      </ul>
      {(gate.status === "open" ? gate.votes : []).map(({ by, at }) => (
        <p key={by}>
          Approved so far by <SafeText text={by} />, <RelativeTime at={at} />
        </p>
      ))}
    </DecisionPart>
  );
}
