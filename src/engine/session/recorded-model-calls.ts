import type { Event } from "../../core/event/event.ts";
import type { ModelRequest } from "../../core/event/model-call.ts";
import { contentOf, type ModelOutput } from "../../core/model/model-content.ts";
import { storedContents } from "../../core/model/stored-contents.ts";
import type { Run } from "../../core/run/run.ts";
import type { Store } from "../../core/store/store.ts";
import type { StepId } from "../../core/values/ids.ts";
import { isJsonObject, type Json, type JsonObject } from "../../core/values/json.ts";
import type { SessionModelCall } from "../api/open-run-api.ts";
import { JournalCodec } from "../journal/journal-codec.ts";
import { readEventPages } from "../journal/load-run.ts";

/** Reads the model calls of a run from its journal: the folded run has only what decisions need. */
export async function readRecordedModelCalls(
  store: Store,
  { tenant, id }: Pick<Run, "tenant" | "id">,
): Promise<ReadonlyMap<StepId, SessionModelCall>> {
  const journal = new JournalCodec(tenant, id);
  const record = new ModelCallRecord();
  for await (const page of readEventPages(store, tenant, id)) {
    for (const stored of page) {
      if (stored.type !== "step.proposed" && stored.type !== "step.succeeded") continue;
      record.add(journal.openInline(stored) ?? (await journal.open(stored, store)));
    }
  }
  return record.calls;
}

class ModelCallRecord {
  readonly calls = new Map<StepId, SessionModelCall>();
  readonly #contents = new Map<string, Json>();

  add(event: Event): void {
    if (event.type === "step.proposed" && event.cause.by === "agent" && event.cause.model !== undefined)
      this.#addRequest(event.step_id, event.step.payload ?? {}, event.cause.model);
    if (event.type !== "step.succeeded") return;
    const call = this.calls.get(event.step_id);
    if (call === undefined) return;
    this.calls.set(event.step_id, { ...call, answer: contentOf(event.output as unknown as ModelOutput) });
  }

  #addRequest(step_id: StepId, payload: JsonObject, { lane, keep, added }: ModelRequest): void {
    const { fields = {}, shared = {}, recorded = {}, skipped = 0 } = payload;
    for (const [digest, value] of storedContents(payload)) this.#contents.set(digest, value);
    const large = Object.entries(shared as JsonObject).map(([name, digest]) => [name, this.#content(digest)] as const);
    const request = { ...(isJsonObject(fields) ? fields : {}), ...Object.fromEntries(large) };
    const first = Math.max(keep, Number(skipped));
    const messages = added
      .slice(first - keep)
      .map((digest, index) => this.#content((recorded as JsonObject)[String(first + index)] ?? digest));
    this.calls.set(step_id, { step_id, lane, request, messages, answer: null });
  }

  #content(digest: Json): Json {
    return this.#contents.get(String(digest)) ?? { digest };
  }
}
