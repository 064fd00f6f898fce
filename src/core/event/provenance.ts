import type { Digest } from "../values/ids.ts";

/** The origin of an outcome. An equal call may reuse the outcome. */
export interface Provenance {
  readonly outcome_id: string;
  readonly type: string;
  readonly status: "draft" | "final";
  readonly input_digest: Digest | null;
  readonly tool: string;
  readonly reuse_key: Digest | null;
}
