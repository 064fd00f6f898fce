import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { JudgedSample, PolicySample, SampleVerdict } from "../../../src/engine/api/policy-api.ts";
import { callRoute } from "../../api/call-route.ts";
import { type ApiProblem, toProblem } from "../../api/problem.ts";
import { DataTable, type TableColumn } from "../../components/data-table.tsx";
import { JsonField, readJson } from "../../components/json-field.tsx";
import { ProblemNote } from "../../components/problem-note.tsx";
import { RunLink } from "../../components/run-link.tsx";
import { SafeText } from "../../components/safe-text.tsx";
import { StatusPill } from "../../components/status-pill.tsx";
import { useServerValue } from "../../live/use-server-value.ts";
import type { PolicyDraft } from "./policy-draft.ts";

const recordedCounts = [0, 10, 25, 49] as const;

/** The calls to judge. */
interface BenchFields {
  readonly recorded: number;
  /** Only recorded calls of this tool. Empty: of all tools. */
  readonly only: string;
  /** The tool of a call of the person's own. Empty: there is none. */
  readonly tool: string;
  readonly input: string;
  readonly kind: "agent" | "service" | "person";
}

const startFields: BenchFields = { recorded: 25, only: "", tool: "", input: "{}", kind: "agent" };

/** Judges recorded calls and one of the person's own by the rules in force and by the draft. Nothing is called. */
export function PolicyTestBench({ draft }: { readonly draft: PolicyDraft }): VNode {
  const [fields, setFields] = useState(startFields);
  const [judged, setJudged] = useState<readonly JudgedSample[] | null>(null);
  const [problem, setProblem] = useState<ApiProblem | null>(null);
  const [isBusy, setBusy] = useState(false);
  const { tool, only, recorded, kind } = fields;
  const read = readJson(fields.input);
  const judge = async () => {
    setBusy(true);
    setProblem(null);
    const calls: PolicySample[] =
      tool === "" || !read.ok ? [] : [{ tool, input: read.value, as: { id: "test", kind } }];
    try {
      const asked = { document: draft.document, calls, recorded, ...(only !== "" && { tool: only }) };
      setJudged(await callRoute("policies.test", asked));
    } catch (error) {
      setProblem(toProblem(error));
      setJudged(null);
    }
    setBusy(false);
  };
  return (
    <div class="stack">
      <form
        class="bench"
        onSubmit={(event) => {
          event.preventDefault();
          void judge();
        }}
      >
        <BenchForm fields={fields} onFields={setFields} />
        <button type="submit" class="button" disabled={draft.document === null || (tool !== "" && !read.ok) || isBusy}>
          {isBusy ? "Judging…" : "Judge"}
        </button>
      </form>
      <p class="soft small">
        Each call is judged as if it was made now, by the policies in force and by this draft. Nothing is stored or
        called.
      </p>
      <ProblemNote problem={problem} />
      {judged !== null && <Judged judged={judged} />}
    </div>
  );
}

function BenchForm({
  fields,
  onFields,
}: {
  readonly fields: BenchFields;
  readonly onFields: (fields: BenchFields) => void;
}): VNode {
  const tools = useServerValue("tools", () => callRoute("tools.list", {}));
  const names = (tools.value ?? []).map(({ name }) => name);
  const set = (change: Partial<BenchFields>) => onFields({ ...fields, ...change });
  const { recorded, only, tool, input, kind } = fields;
  return (
    <>
      <label class="field">
        Recorded calls
        <select value={recorded} onChange={({ currentTarget }) => set({ recorded: Number(currentTarget.value) })}>
          {recordedCounts.map((count) => (
            <option key={count} value={count}>
              {count === 0 ? "none" : `the latest ${count}`}
            </option>
          ))}
        </select>
      </label>
      <ToolChoice
        label="Recorded calls of"
        none="all tools"
        names={names}
        value={only}
        onChoose={(name) => set({ only: name })}
      />
      <ToolChoice
        label="A call of your own"
        none="none"
        names={names}
        value={tool}
        onChoose={(name) => set({ tool: name })}
      />
      {tool !== "" && (
        <>
          <label class="field">
            Made by
            <select
              value={kind}
              onChange={({ currentTarget }) => set({ kind: currentTarget.value as BenchFields["kind"] })}
            >
              <option value="agent">an agent</option>
              <option value="service">a service</option>
              <option value="person">a person</option>
            </select>
          </label>
          <div class="bench-input">
            <JsonField label="Input of the call" text={input} rows={5} onText={(text) => set({ input: text })} />
          </div>
        </>
      )}
    </>
  );
}

interface ToolChoiceProps {
  readonly label: string;
  readonly none: string;
  readonly names: readonly string[];
  readonly value: string;
  readonly onChoose: (name: string) => void;
}

function ToolChoice({ label, none, names, value, onChoose }: ToolChoiceProps): VNode {
  return (
    <label class="field">
      {label}
      <select value={value} onChange={({ currentTarget }) => onChoose(currentTarget.value)}>
        <option value="">{none}</option>
        {names.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

function isChanged({ now, draft }: JudgedSample): boolean {
  return now.says !== draft.says || now.rule !== draft.rule;
}

function Judged({ judged }: { readonly judged: readonly JudgedSample[] }): VNode {
  const changed = judged.filter(isChanged);
  const summary =
    changed.length === 0
      ? `The draft judges all ${judged.length} calls as they are judged now.`
      : `The draft judges ${changed.length} of ${judged.length} calls differently.`;
  return (
    <>
      <p role="status">
        <strong>{judged.length === 0 ? "There was no call to judge." : summary}</strong>
      </p>
      <DataTable
        label="Judged calls"
        columns={columns}
        rows={[...changed, ...judged.filter((each) => !isChanged(each))]}
        keyOf={({ tool, recorded, input }) =>
          `${tool} ${recorded?.run_id} ${recorded?.step_id} ${JSON.stringify(input)}`
        }
        empty={null}
      />
    </>
  );
}

const inputShown = 120;

const columns: readonly TableColumn<JudgedSample>[] = [
  {
    title: "Call",
    fit: "wide",
    cell: ({ tool, input, recorded }) => (
      <>
        <SafeText text={tool} /> {recorded !== null && <RunLink run_id={recorded.run_id} />}
        <div class="mono small soft bench-call">
          <SafeText text={JSON.stringify(input).slice(0, inputShown)} />
        </div>
      </>
    ),
  },
  { title: "By", cell: ({ by }) => <SafeText text={by} /> },
  { title: "Now", cell: ({ now }) => <Verdict verdict={now} /> },
  {
    title: "Draft",
    cell: (sample) => (
      <>
        {isChanged(sample) && <span class="bench-changed">changed </span>}
        <Verdict verdict={sample.draft} />
      </>
    ),
  },
];

const tones = { allow: "good", hold: "hold", refuse: "danger", wait: "hold", unknown: "soft" } as const;

function Verdict({ verdict: { says, rule, reason } }: { readonly verdict: SampleVerdict }): VNode {
  return (
    <>
      <StatusPill status={says} tone={tones[says]} />
      <div class="small soft bench-reason">
        <SafeText text={reason || (rule ?? "")} />
      </div>
    </>
  );
}
