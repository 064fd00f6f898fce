import { performance } from "node:perf_hooks";
import { assertStorableNames } from "../../core/store/check-entry.ts";
import type { Claim, ClaimTerms, RunClaims, Store } from "../../core/store/store.ts";
import type { Epoch, Instant, RunId, StepId, Tenant, WorkerId } from "../../core/values/ids.ts";
import { batchPerTick } from "./batch-per-tick.ts";
import { int8Array, textArray } from "./binary-array.ts";
import type { FunctionCaller } from "./function-caller.ts";
import type { LeaseRenewals } from "./lease-renewals.ts";
import type { PgValue } from "./pg-driver.ts";
import { claimValues } from "./postgres-held-run-asks.ts";
import type { ServerClock } from "./server-clock.ts";
import { ownProcess } from "./worker-list.ts";

type LeaseMethods = Pick<Store, "claim" | "claimDue" | "renew" | "predecessor" | "release" | "holdings" | "nextDue">;

export interface LeaseOptions {
  readonly calls: FunctionCaller;
  readonly leaseMs: number;
  /** Returns the time by which leases expire; null if the server's own time counts. */
  givenNow(): Instant | null;
  readonly serverClock: ServerClock;
  /** The thread that renews leases, if one runs. */
  readonly renewals: Pick<LeaseRenewals, "renew" | "clear">;
  /** Claims a run with its first entry, at epoch 1; null if no such entry waits to be sent. */
  claimWithFirstEntry(worker: WorkerId, tenant: Tenant, run: RunId): Promise<boolean> | null;
}

const FIRST_EPOCH = 1 as Epoch;

/** Claims, renews and releases leases, which the server grants by one clock for all workers. */
export function postgresLeases(setting: LeaseOptions): LeaseMethods {
  const { calls, leaseMs, givenNow, serverClock, renewals } = setting;
  const renewOnMainThread = async (values: readonly PgValue[]): Promise<readonly number[]> => {
    const [answer] = await calls<readonly [readonly number[]]>({ name: "renew", values });
    return answer?.[0] ?? [];
  };
  const release = batchPerTick<Claim, void>(
    ({ run }) => run,
    async (tenant, claims) => {
      const [, ...values] = claimValues(claims);
      await calls({ name: "release", isValue: true, values: [tenant, ...values, leaseMs, givenNow()] });
      return [];
    },
  );
  return {
    ...claimMethods(setting),
    renew: async (_worker, claims) => {
      if (claims.length === 0) renewals.clear();
      if (claims.length === 0) return [];
      const sorted = claims.toSorted(
        (left, right) => compareText(left.tenant, right.tenant) || compareText(left.run, right.run),
      );
      const values = [...claimValues(sorted), leaseMs, givenNow()];
      const numbers = (await renewals.renew?.(values)) ?? (await renewOnMainThread(values));
      const lost = new Set(numbers.map((number) => sorted[number - 1]));
      return claims.filter((claim) => lost.has(claim));
    },
    predecessor: async ({ tenant, run, worker, epoch }) => {
      const values = [tenant, run, worker, epoch];
      const [answer] = await calls<readonly [WorkerId | null]>({ name: "predecessor", values });
      return answer?.[0] ?? null;
    },
    release,
    holdings: async (tenant, after, most) => {
      assertStorableNames(tenant, after);
      const found = await calls<HoldingColumns>({ name: "holdings", values: [tenant, after, most, givenNow()] });
      return found.map(([run, worker, epoch, queue, since, until]) => ({ run, worker, epoch, queue, since, until }));
    },
    nextDue: async () => {
      const sentAt = performance.now();
      const [answer] = await calls<readonly [now: number, due: Instant | null]>({
        name: "next_due",
        values: [givenNow()],
      });
      if (answer !== undefined) serverClock.adjust(answer[0], sentAt);
      return answer?.[1] ?? null;
    },
  };
}

function claimMethods(setting: LeaseOptions): Pick<Store, "claim" | "claimDue"> {
  const { calls, leaseMs, givenNow } = setting;
  return {
    claim: async (worker, tenant, run) => {
      assertStorableNames(worker, tenant, run);
      const isClaimed = setting.claimWithFirstEntry(worker, tenant, run);
      if (isClaimed !== null && (await isClaimed)) return { tenant, run, worker, epoch: FIRST_EPOCH };
      const values = [tenant, run, worker, leaseMs, givenNow()];
      const [claimed] = await calls<readonly [Epoch | null]>({ name: "claim", values });
      const epoch = claimed?.[0] ?? null;
      return epoch === null ? null : { tenant, run, worker, epoch };
    },
    claimDue: async (worker, limit, terms = {}) => {
      assertStorableNames(
        worker,
        ...(terms.queues ?? []),
        ...Object.keys(terms.perQueue ?? {}),
        ...(terms.offers ?? []),
      );
      if (terms.queues?.length === 0) return [];
      const values = [worker, limit, leaseMs, givenNow(), ...termValues(terms)];
      const claimed = await calls<readonly [Tenant, RunId, Epoch]>({ name: "claim_some", values });
      return claimed.map(([tenant, run, epoch]) => ({ tenant, run, worker, epoch }));
    },
  };
}

type HoldingColumns = readonly [
  run: RunId,
  worker: WorkerId,
  epoch: Epoch,
  queue: string | null,
  since: Instant,
  until: Instant,
];

function termValues({ queues, perQueue = {}, perTenant, offers = [], rules }: ClaimTerms): readonly PgValue[] {
  const limits = Object.entries(perQueue);
  return [
    queues === undefined ? null : textArray(queues),
    ...(limits.length === 0
      ? [null, null]
      : [textArray(limits.map(([queue]) => queue)), int8Array(limits.map(([, most]) => most))]),
    perTenant ?? null,
    offers.length === 0 ? null : textArray(offers),
    rules ?? null,
    ownProcess,
  ];
}

function compareText(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

type MarkerMethods = Pick<Store, "mark" | "marked" | "claims">;

type MarkedColumns = readonly [isWritten: boolean, isWhole: boolean, boot: string];
type MarkerColumns = readonly [step: StepId, attempt: number, epoch: number];

type ClaimColumns = readonly [
  run: RunId,
  epoch: number | null,
  worker: WorkerId | null,
  leaseEpoch: number | null,
  sent: number,
  markers: string | null,
];

function toRunClaims([run, epoch, worker, leaseEpoch, sent, markers]: ClaimColumns): RunClaims {
  return {
    run,
    epoch,
    lease: worker === null || leaseEpoch === null ? null : { worker, epoch: leaseEpoch },
    markers: (JSON.parse(markers ?? "[]") as readonly MarkerColumns[]).map(([step, attempt, marked]) => ({
      step,
      attempt,
      epoch: marked,
    })),
    sent,
  };
}

interface Marker extends Claim {
  readonly step: StepId;
  readonly attempt: number;
}

/** Writes and reads send markers. Calls `setBoot` with the current boot of the server. */
export function postgresMarkers(calls: FunctionCaller, setBoot: (boot: string) => void): MarkerMethods {
  const mark = batchPerTick<Marker, boolean>(
    ({ run }) => run,
    async (tenant, markers) => {
      const [answer] = await calls<readonly [readonly boolean[]]>({
        name: "mark",
        isValue: true,
        values: [
          tenant,
          textArray(markers.map(({ run }) => run)),
          textArray(markers.map(({ worker }) => worker)),
          int8Array(markers.map(({ epoch }) => epoch)),
          textArray(markers.map(({ step }) => step)),
          int8Array(markers.map(({ attempt }) => attempt)),
        ],
      });
      return answer?.[0] ?? markers.map(() => false);
    },
  );
  return {
    mark: async (claim, step, attempt) => {
      assertStorableNames(step);
      return mark({ ...claim, step, attempt });
    },
    marked: async (tenant, run, step, attempt, boot) => {
      assertStorableNames(tenant, run, step);
      const values = [tenant, run, step, attempt];
      const [answer] = await calls<MarkedColumns>({ name: "marked", values });
      if (answer === undefined) return "unknown";
      const [isWritten, isWhole, bootNow] = answer;
      setBoot(bootNow);
      if (bootNow !== boot || boot === "unknown") return "unknown";
      if (isWritten) return "yes";
      return isWhole ? "no" : "unknown";
    },
    claims: async (tenant, after, most) => {
      assertStorableNames(tenant, after);
      return (await calls<ClaimColumns>({ name: "claims", values: [tenant, after, most] })).map(toRunClaims);
    },
  };
}
