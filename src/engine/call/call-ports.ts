import type { Proposal } from "../../core/call/proposal.ts";
import type { RandomSource, Stopwatch } from "../../core/ports/clock.ts";
import type { Claim } from "../../core/store/store.ts";
import type { WorkerId } from "../../core/values/ids.ts";
import type { DeliveredNotice } from "../api/delivered-notice.ts";
import type { EngineLimits } from "../api/engine-limits.ts";
import type { ResourceRestorePorts } from "../resources/resource-restore-ports.ts";
import type { HaltCache } from "../rules/halt-cache.ts";
import type { PolicyRegistry } from "../rules/policy-registry.ts";
import type { SettingsByTenant } from "../rules/settings-by-tenant.ts";
import type { ActsInFlight } from "./acts-in-flight.ts";
import type { EqualCallsInFlight } from "./equal-calls-in-flight.ts";
import type { ToolRegistry } from "./tool-registry.ts";
import type { VerbPort } from "./verb-tools.ts";

/** The services that the stages of a call use. */
export interface CallPorts extends ResourceRestorePorts {
  readonly dice: RandomSource;
  /** Measures durations: unlike the clock, it cannot be set. */
  readonly stopwatch: Stopwatch;
  readonly actsInFlight: ActsInFlight;
  readonly equalCalls: EqualCallsInFlight;
  /** With the call, the seed of the random numbers that a tool gets. */
  readonly seed: string;
  readonly limits: EngineLimits;
  /** True: plans state effects, tags, cache policy and idempotency template explicitly. */
  readonly strictPlans: boolean;
  readonly toolbox: ToolRegistry;
  readonly verbs: () => VerbPort;
  readonly tenants: SettingsByTenant;
  readonly policies: PolicyRegistry;
  readonly halts: HaltCache;
  readonly leases: LeaseConfirmation;
  /** Budget alerts that are known to be recorded. */
  readonly alerted: Set<string>;
  /** Delivers a notice, at least once. Null: notices wait for a worker that can deliver them. */
  readonly onNotice: ((notice: DeliveredNotice) => Promise<void>) | null;
  /** The field of proposals that makes each gate send a notice, or nothing. */
  readonly gateNotices: Pick<Proposal, "gate_notice">;
}

/** Tells whether a claim is still this worker's. */
interface LeaseConfirmation {
  /** The id of this worker. */
  readonly worker: WorkerId;
  /** Returns whether the store confirmed the claim recently. */
  isProven(claim: Claim): boolean;
  /** Asks the store if the claim is not proven. */
  confirm(claim: Claim): Promise<boolean>;
}
