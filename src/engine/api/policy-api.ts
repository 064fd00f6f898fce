import type { Mode } from "../../core/values/effect.ts";
import type { Instant, RunId, StepId } from "../../core/values/ids.ts";
import type { Json, JsonObject } from "../../core/values/json.ts";
import type { PrincipalInput } from "./principal-input.ts";
import type { PrincipalOptions, ReasonOptions } from "./request-options.ts";

/** The project or session that a tenant's policy applies to. Default: all of the tenant. */
export interface PolicyPlaceOptions {
  readonly project?: string;
  readonly session?: string;
}

/** A version of a policy: a document that was stored, or its removal. */
export interface PolicyVersion {
  /** The number of the change, over all policies of the tenant. */
  readonly version: number;
  readonly at: Instant;
  readonly by: string;
  readonly reason: string;
  readonly name: string;
  readonly project: string | null;
  readonly session: string | null;
  /** Null: the policy was removed. */
  readonly document: JsonObject | null;
}

export interface SetPolicyOptions extends ReasonOptions {
  /**
   * The version that the document replaces. 0: there is no policy of that name and scope. If there is another version,
   * nothing is stored. Default: any version.
   */
  readonly ifVersion?: number;
}

/** A call that a draft of a policy judges. */
export interface PolicySample {
  readonly tool: string;
  readonly input: Json;
  /** The principal of the run. Its tenant is that of the request. Default: the principal of the request. */
  readonly as?: Pick<PrincipalInput, "id" | "kind" | "roles">;
  readonly project?: string;
  readonly session?: string;
  readonly mode?: Mode;
}

export interface PolicyTestOptions extends PrincipalOptions {
  readonly calls?: readonly PolicySample[];
  /** The number of recorded calls that are judged too, newest first. Default: none. */
  readonly recorded?: number;
  /** Only recorded calls of this tool, or of runs of this project. */
  readonly tool?: string;
  readonly project?: string;
}

/** `wait`: a rate is used up for now. `unknown`: the call has no input that can be judged. */
export type VerdictWord = "allow" | "hold" | "refuse" | "wait" | "unknown";

export interface SampleVerdict {
  readonly says: VerdictWord;
  /** The rule that decided. Null: no rule objected. */
  readonly rule: string | null;
  readonly reason: string;
}

/** A call with the verdicts of the policies in force, and of the draft in their place. */
export interface JudgedSample {
  readonly tool: string;
  readonly input: Json;
  readonly by: string;
  readonly project: string | null;
  /** The recorded call. Null: the request gave the call. */
  readonly recorded: { readonly run_id: RunId; readonly step_id: StepId; readonly at: Instant } | null;
  readonly now: SampleVerdict;
  readonly draft: SampleVerdict;
}

/** Policies that a tenant has stored, in addition to those in the engine's options. Only a person can change them. */
export interface TenantPolicies {
  /** Stores a policy. It replaces a policy with the same name and scope. The scope must name the tenant. */
  set(document: unknown, options: SetPolicyOptions): Promise<void>;
  remove(name: string, options: ReasonOptions & PolicyPlaceOptions): Promise<void>;
  list(options: PrincipalOptions): Promise<readonly JsonObject[]>;
  /** Returns the stored policy of that name and scope, with its version. */
  get(name: string, options: PrincipalOptions & PolicyPlaceOptions): Promise<PolicyVersion>;
  /** Lists the changes of policies, newest first: at most `limit` (default 50), all before `before` if given. */
  history(
    options: PrincipalOptions & { readonly limit?: number; readonly before?: number },
  ): Promise<readonly PolicyVersion[]>;
  /**
   * Judges calls by the policies in force and by a draft, which replaces the stored policy of its name and scope. Nothing
   * is stored or called. A recorded call is judged as if it was made now.
   */
  test(document: unknown, options: PolicyTestOptions): Promise<readonly JudgedSample[]>;
}
