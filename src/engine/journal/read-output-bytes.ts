import { hash } from "node:crypto";
import type { OutputBlobs } from "../../core/event/output-blobs.ts";
import type { ReuseSource } from "../../core/event/reuse-source.ts";
import type { Store } from "../../core/store/store.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { RunId, Tenant } from "../../core/values/ids.ts";
import { JournalCodec } from "./journal-codec.ts";
import { readEventPages } from "./load-run.ts";

/** Returns the bytes that an output of a run refers to. An output that was reused refers to those of its source. */
export async function readOutputBytes(store: Store, tenant: Tenant, run: RunId, sha256: unknown): Promise<Uint8Array> {
  if (typeof sha256 !== "string" || !/^[0-9a-f]{64}$/.test(sha256))
    throw new FaultError(fault("INVALID_INPUT", "blob must be the SHA-256 of bytes, as an output has it"));
  const runs = new Set([run]);
  for (const id of runs) {
    const found = await findContent(store, tenant, id, sha256);
    if (found.content !== null) return checkedBytes(found.content, sha256);
    for (const source of found.sources) runs.add(source);
  }
  throw new FaultError(fault("STEP_NOT_FOUND", `no output of run ${run} refers to the bytes ${sha256}`));
}

interface FoundContent {
  readonly content: string | null;
  /** The runs whose outputs answered steps of this run. */
  readonly sources: readonly RunId[];
}

async function findContent(store: Store, tenant: Tenant, run: RunId, sha256: string): Promise<FoundContent> {
  const journal = new JournalCodec(tenant, run);
  const sources: RunId[] = [];
  for await (const page of readEventPages(store, tenant, run)) {
    for (const stored of page) {
      if (!OUTPUT_EVENTS.has(stored.type) || stored.body === null) continue;
      const event = journal.openInline(stored) ?? (await journal.open(stored, store));
      const { contents, reused } = event as { readonly contents?: OutputBlobs; readonly reused?: ReuseSource };
      const content = contents?.[sha256];
      if (content !== undefined) return { content, sources };
      if (reused !== undefined && JSON.stringify(event).includes(sha256)) sources.push(reused.run);
    }
  }
  return { content: null, sources };
}

const OUTPUT_EVENTS: ReadonlySet<string> = new Set(["step.succeeded", "step.failed"]);

/** Checks the bytes against their digest, because the hash chain of the journal was not read. */
function checkedBytes(content: string, sha256: string): Uint8Array {
  const bytes = Buffer.from(content, "base64");
  if (hash("sha256", bytes) === sha256) return new Uint8Array(bytes);
  throw new FaultError(fault("CHAIN_BROKEN", `the bytes ${sha256} are not what was written; restore from a backup`));
}
