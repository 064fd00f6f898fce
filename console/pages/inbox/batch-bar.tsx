import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { callRoute } from "../../api/call-route.ts";
import { toProblem } from "../../api/problem.ts";
import { Dialog } from "../../components/dialog.tsx";
import { SafeText } from "../../components/safe-text.tsx";
import type { InboxEntry } from "./inbox-entry.ts";

type BatchVerb = "approve" | "reject" | "happened" | "absent" | "give_up";

const gateVerbs: readonly BatchVerb[] = ["approve", "reject"];
/** Each call needs data of its own, so none is approved together with others. */
const dataVerbs: readonly BatchVerb[] = ["reject"];
const doubtVerbs: readonly BatchVerb[] = ["happened", "absent", "give_up"];
const words: Readonly<Record<BatchVerb, string>> = {
  approve: "Approve",
  reject: "Reject",
  happened: "They happened",
  absent: "They did not happen",
  give_up: "Give up",
};

interface BatchBarProps {
  readonly entries: readonly InboxEntry[];
  readonly onClear: () => void;
  readonly onDone: () => Promise<void>;
}

/** Decides the chosen entries together. Each is still one decision of its own, with its own digest. */
export function BatchBar({ entries, onClear, onDone }: BatchBarProps): VNode | null {
  const [verb, setVerb] = useState<BatchVerb | null>(null);
  if (entries.length === 0) return null;
  const kinds = new Set(entries.map(({ kind }) => (kind === "doubt" ? "doubt" : "gate")));
  const callVerbs = entries.some(({ kind }) => kind === "data") ? dataVerbs : gateVerbs;
  const verbs = kinds.size > 1 ? [] : kinds.has("doubt") ? doubtVerbs : callVerbs;
  return (
    <div class="batch" role="toolbar" aria-label="Chosen entries">
      <strong>{entries.length} chosen</strong>
      {verbs.map((each) => (
        <button key={each} type="button" class="button button-quiet" onClick={() => setVerb(each)}>
          {words[each]}
        </button>
      ))}
      {verbs.length === 0 && <span class="soft small">Choose only held calls, or only acts in doubt.</span>}
      <button type="button" class="button button-quiet" onClick={onClear}>
        Clear
      </button>
      {verb !== null && (
        <BatchDialog verb={verb} entries={entries} onClose={() => setVerb(null)} onClear={onClear} onDone={onDone} />
      )}
    </div>
  );
}

function BatchDialog({
  verb,
  entries,
  onClose,
  onClear,
  onDone,
}: BatchBarProps & { readonly verb: BatchVerb; readonly onClose: () => void }): VNode {
  const [reason, setReason] = useState("");
  const [isBusy, setBusy] = useState(false);
  const [failed, setFailed] = useState<readonly (readonly [InboxEntry, string])[]>([]);
  // The entries that were shown are the ones that are decided, whatever arrives meanwhile.
  const [shown] = useState(entries);
  const decideAll = async () => {
    setBusy(true);
    const failures: (readonly [InboxEntry, string])[] = [];
    for (const entry of shown)
      await decideEntry(entry, verb, reason.trim()).catch((error: unknown) => {
        failures.push([entry, toProblem(error).message]);
      });
    setBusy(false);
    setFailed(failures);
    await onDone();
    if (failures.length > 0) return;
    onClose();
    onClear();
  };
  return (
    <Dialog title={`${words[verb]}: ${shown.length} ${shown.length === 1 ? "entry" : "entries"}`} onClose={onClose}>
      <ul class="batch-list">
        {shown.map((entry) => (
          <li key={entry.id}>
            <code>
              <SafeText text={entry.tool} />
            </code>{" "}
            <SafeText text={entry.summary} />
          </li>
        ))}
      </ul>
      <label class="field">
        Reason, for the record of each
        <input maxLength={1000} value={reason} onInput={({ currentTarget }) => setReason(currentTarget.value)} />
      </label>
      {failed.map(([entry, message]) => (
        <p key={entry.id} class="note note-danger" role="alert">
          <SafeText text={`${entry.tool}: ${message}`} />
        </p>
      ))}
      <div class="actions">
        <button type="button" class="button" disabled={isBusy} onClick={() => void decideAll()}>
          {words[verb]}
        </button>
        <button type="button" class="button button-quiet" onClick={onClose}>
          Cancel
        </button>
      </div>
    </Dialog>
  );
}

async function decideEntry({ of }: InboxEntry, verb: BatchVerb, given: string): Promise<void> {
  const reason = given === "" ? {} : { reason: given };
  if ("gate" in of) {
    const { gate_id, digest } = of.gate;
    if (verb === "approve" || verb === "reject") await callRoute(verb, { gate_id, digest, ...reason });
    return;
  }
  if (verb === "approve" || verb === "reject") return;
  const { run_id, step_id, attempt } = of.doubt;
  await callRoute("resolve", { run_id, step_id, attempt, as: verb, ...reason });
}
