import type { RefObject, VNode } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import type { GateView } from "../../src/engine/api/list-api.ts";
import { callRoute } from "../api/call-route.ts";
import { useKeys } from "../app/key-bindings.ts";
import { ProblemNote } from "../components/problem-note.tsx";
import { useServerValue } from "../live/use-server-value.ts";
import { AskedDataFields } from "./asked-data-fields.tsx";
import { InputEditor, readEditedInput } from "./input-editor.tsx";
import { type AskedData, readAskedData } from "./read-asked-data.ts";
import { type Action, useAction } from "./use-action.ts";
import { useDecisionDraft } from "./use-decision-draft.ts";

interface GateFormProps {
  readonly gate: GateView;
  /** Called after a decision, and after one that came too late. */
  readonly onDecided: () => Promise<void>;
}

/** Decides a held call: exactly the call that is shown, by its digest, or with the data that the gate asks for. */
export function GateForm({ gate, onDecided }: GateFormProps): VNode {
  const choice = useGateChoice(gate);
  const { draft, change, edited, data } = choice;
  const asked = gate.asks_for ?? null;
  const [enterRejects, setEnterRejects] = useState(false);
  const action = useAction();
  const approveButton = useRef<HTMLButtonElement>(null);
  const reasonField = useRef<HTMLInputElement>(null);
  const decide = (verb: "approve" | "reject") => decideGate(action, verb, { gate, ...choice, onDecided });
  const startEditing = () => change({ edited: draft.edited === null ? JSON.stringify(gate.input, null, 2) : null });
  const startRejecting = () => {
    setEnterRejects(true);
    reasonField.current?.focus();
  };
  useDecisionKeys(approveButton, asked === null ? startEditing : null, startRejecting);
  return (
    <form
      class="decision"
      aria-label="Decision"
      onSubmit={(event) => {
        event.preventDefault();
        if (enterRejects) void decide("reject");
      }}
    >
      {draft.edited !== null && edited !== null && (
        <InputEditor text={draft.edited} onText={(text) => change({ edited: text })} edited={edited} />
      )}
      {asked !== null && data !== null && (
        <AskedDataFields
          asked={asked}
          texts={draft.data}
          data={data}
          onText={(path, text) => change({ data: { ...draft.data, [path]: text } })}
        />
      )}
      <ReasonField
        field={reasonField}
        enterRejects={enterRejects}
        reason={draft.reason}
        onReason={(reason) => change({ reason })}
        onLeave={() => setEnterRejects(false)}
      />
      <GateActions
        isEditing={draft.edited !== null}
        asksForData={asked !== null}
        canApprove={!action.isBusy && edited?.ok !== false && data?.ok !== false}
        isBusy={action.isBusy}
        approveButton={approveButton}
        onEdit={startEditing}
        onDecide={(verb) => void decide(verb)}
      />
      <ProblemNote problem={action.problem} />
    </form>
  );
}

function ReasonField({
  field,
  enterRejects,
  reason,
  onReason,
  onLeave,
}: {
  readonly field: RefObject<HTMLInputElement | null>;
  readonly enterRejects: boolean;
  readonly reason: string;
  readonly onReason: (reason: string) => void;
  readonly onLeave: () => void;
}): VNode {
  return (
    <label class="field">
      <span>Reason, for the record {enterRejects && <strong class="soft">(Enter rejects the call)</strong>}</span>
      <input
        ref={field}
        autocomplete="off"
        maxLength={1000}
        value={reason}
        onInput={({ currentTarget }) => onReason(currentTarget.value)}
        onBlur={onLeave}
      />
    </label>
  );
}

function GateActions({
  isEditing,
  asksForData,
  canApprove,
  isBusy,
  approveButton,
  onEdit,
  onDecide,
}: {
  readonly isEditing: boolean;
  readonly asksForData: boolean;
  readonly canApprove: boolean;
  readonly isBusy: boolean;
  readonly approveButton: RefObject<HTMLButtonElement | null>;
  readonly onEdit: () => void;
  readonly onDecide: (verb: "approve" | "reject") => void;
}): VNode {
  return (
    <div class="actions">
      <button
        ref={approveButton}
        type="button"
        class="button"
        disabled={!canApprove}
        onClick={() => onDecide("approve")}
      >
        {approveText(isEditing, asksForData)}
      </button>
      {!asksForData && (
        <button type="button" class="button button-quiet" aria-pressed={isEditing} onClick={onEdit}>
          {isEditing ? "Do not edit" : "Edit"}
        </button>
      )}
      <button type="button" class="button button-danger" disabled={isBusy} onClick={() => onDecide("reject")}>
        Reject
      </button>
    </div>
  );
}

function approveText(isEditing: boolean, asksForData: boolean): string {
  if (asksForData) return "Supply the data";
  return isEditing ? "Approve the edited call" : "Approve";
}

interface GateChoice extends GateFormProps {
  readonly draft: { readonly reason: string };
  readonly edited: ReturnType<typeof readEditedInput> | null;
  readonly data: AskedData | null;
  drop(): void;
}

/** Sends the decision with the digest of the call that the person saw. The typed reason stays if it is refused. */
async function decideGate(
  action: Action,
  verb: "approve" | "reject",
  { gate, draft, edited, data, drop, onDecided }: GateChoice,
): Promise<void> {
  const { gate_id, digest } = gate;
  const reason = draft.reason.trim();
  const input = edited?.ok === true ? { input: edited.value } : {};
  const given = data?.ok === true ? { data: data.value } : input;
  const fields = { gate_id, digest, ...(verb === "approve" && given), ...(reason !== "" && { reason }) };
  const done = await action.send(() => callRoute(verb, fields));
  if (done) drop();
  await onDecided();
}

function useDecisionKeys(
  approveButton: RefObject<HTMLButtonElement | null>,
  startEditing: (() => void) | null,
  startRejecting: () => void,
): void {
  useKeys([
    { key: "a", does: "go to Approve; Enter approves", run: () => approveButton.current?.focus() },
    ...(startEditing === null ? [] : [{ key: "e", does: "edit the input, or stop editing", run: startEditing }]),
    { key: "r", does: "type a reason; Enter rejects", run: startRejecting },
  ]);
}

/** Returns the text that a person has typed about a gate, and whether it fits the tool. */
function useGateChoice({ gate_id, tool, asks_for }: GateView) {
  const [draft, change, drop] = useDecisionDraft(gate_id);
  const schema = useInputSchema(tool);
  const edited = useMemo(() => (draft.edited === null ? null : readEditedInput(draft.edited, schema)), [draft, schema]);
  const data = useMemo(
    () => (asks_for === undefined ? null : readAskedData(asks_for, draft.data, schema)),
    [asks_for, draft, schema],
  );
  return { draft, change, drop, edited, data };
}

/** Returns the schema of the input of a tool, or a schema that allows everything while it is unknown. */
function useInputSchema(tool: string) {
  const { value } = useServerValue("tools", () => callRoute("tools.list", {}));
  return useMemo(() => value?.find(({ name }) => name === tool)?.input ?? {}, [value, tool]);
}
