import { performance } from "node:perf_hooks";
import type { Epoch, Instant, RunId, StepId, Tenant, WorkerId } from "../../core/id.ts";
import { assertNames } from "../../core/judge.ts";
import type { Claim, ClaimTerms, Store } from "../../core/store.ts";
import { longs, texts } from "./binary-array.ts";
import type { Calls } from "./calls.ts";
import type { Value } from "./driver.ts";
import { gathered } from "./gathered.ts";
import type { Renewals } from "./renewals.ts";
import type { ServerClock } from "./server-clock.ts";

type Claims = Pick<Store, "claim" | "claimDue" | "renew" | "predecessor" | "release" | "holdings" | "nextDue">;

export interface LeaseSetting {
  readonly calls: Calls;
  readonly leaseMs: number;
  /** The server judges by its own time, unless it is given another. */
  givenNow(): Instant | null;
  readonly serverClock: ServerClock;
  /** Where there is a thread for it, it renews; it also has to hear that there is nothing left to renew. */
  readonly renewals: Pick<Renewals, "renew" | "forget">;
  /** Claims a run with the entry that begins it; null if none waits to be sent. Nobody else has it then, and this is its first epoch. */
  claimBegun(worker: WorkerId, tenant: Tenant, run: RunId): Promise<boolean> | null;
}

const FIRST = 1 as Epoch;

/** Who holds which run, by the server's time alone. */
export function claims(setting: LeaseSetting): Claims {
  const { calls, leaseMs, givenNow, serverClock, renewals } = setting;
  const renewHere = async (values: readonly Value[]): Promise<readonly number[]> => {
    const [answer] = await calls<readonly [readonly number[]]>({ name: "renew", values });
    return answer?.[0] ?? [];
  };
  const release = gathered<Claim, void>(
    ({ run }) => run,
    async (tenant, all) => {
      const [, ...claims] = claimValues(all);
      await calls({ name: "release", isValue: true, values: [tenant, ...claims] });
      return [];
    },
  );
  return {
    claim: async (worker, tenant, run) => {
      assertNames(worker, tenant, run);
      const begun = setting.claimBegun(worker, tenant, run);
      if (begun !== null && (await begun)) return { tenant, run, worker, epoch: FIRST };
      const values = [tenant, run, worker, leaseMs, givenNow()];
      const [taken] = await calls<readonly [Epoch | null]>({ name: "claim", values });
      const epoch = taken?.[0] ?? null;
      return epoch === null ? null : { tenant, run, worker, epoch };
    },
    claimDue: async (worker, limit, terms = {}) => {
      assertNames(worker, ...(terms.queues ?? []), ...Object.keys(terms.perQueue ?? {}), ...(terms.offers ?? []));
      if (terms.queues?.length === 0) return [];
      const values = [worker, limit, leaseMs, givenNow(), ...termValues(terms)];
      const taken = await calls<readonly [Tenant, RunId, Epoch]>({ name: "claim_some", values });
      return taken.map(([tenant, run, epoch]) => ({ tenant, run, worker, epoch }));
    },
    renew: async (all) => {
      if (all.length === 0) renewals.forget();
      if (all.length === 0) return [];
      const sorted = all.toSorted((left, right) => compare(left.tenant, right.tenant) || compare(left.run, right.run));
      const values = [...claimValues(sorted), leaseMs, givenNow()];
      const numbers = (await renewals.renew?.(values)) ?? (await renewHere(values));
      const lost = new Set(numbers.map((number) => sorted[number - 1]));
      return all.filter((claim) => lost.has(claim));
    },
    predecessor: async ({ tenant, run, worker, epoch }) => {
      const values = [tenant, run, worker, epoch];
      const [answer] = await calls<readonly [WorkerId | null]>({ name: "predecessor", values });
      return answer?.[0] ?? null;
    },
    release,
    holdings: async (tenant, after, most) => {
      assertNames(tenant, after);
      const found = await calls<HoldingColumns>({ name: "holdings", values: [tenant, after, most, givenNow()] });
      return found.map(([run, worker, epoch, queue, since, until]) => ({ run, worker, epoch, queue, since, until }));
    },
    nextDue: async () => {
      const asked = performance.now();
      const [answer] = await calls<readonly [now: number, due: Instant | null]>({
        name: "next_due",
        values: [givenNow()],
      });
      if (answer !== undefined) serverClock.heard(answer[0], asked);
      return answer?.[1] ?? null;
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

function termValues({ queues, perQueue = {}, perTenant, offers = [] }: ClaimTerms): readonly Value[] {
  const limits = Object.entries(perQueue);
  return [
    queues === undefined ? null : texts(queues),
    ...(limits.length === 0
      ? [null, null]
      : [texts(limits.map(([queue]) => queue)), longs(limits.map(([, most]) => most))]),
    perTenant ?? null,
    offers.length === 0 ? null : texts(offers),
  ];
}

function claimValues(all: readonly Claim[]) {
  return [
    texts(all.map(({ tenant }) => tenant)),
    texts(all.map(({ run }) => run)),
    texts(all.map(({ worker }) => worker)),
    longs(all.map(({ epoch }) => epoch)),
  ];
}

function compare(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

type Markers = Pick<Store, "mark" | "marked">;

interface Marker extends Pick<Claim, "tenant" | "run" | "epoch"> {
  readonly step: StepId;
  readonly attempt: number;
}

/** `heard` is told the boot that the server is in. */
export function markers(calls: Calls, heard: (boot: string) => void): Markers {
  const mark = gathered<Marker, boolean>(
    ({ run }) => run,
    async (tenant, all) => {
      const [answer] = await calls<readonly [readonly boolean[]]>({
        name: "mark",
        isValue: true,
        values: [
          tenant,
          texts(all.map(({ run }) => run)),
          longs(all.map(({ epoch }) => epoch)),
          texts(all.map(({ step }) => step)),
          longs(all.map(({ attempt }) => attempt)),
        ],
      });
      return answer?.[0] ?? all.map(() => false);
    },
  );
  return {
    mark: async ({ tenant, run, epoch }, step, attempt) => {
      assertNames(step);
      return mark({ tenant, run, epoch, step, attempt });
    },
    marked: async (tenant, run, step, attempt, boot) => {
      assertNames(tenant, run, step);
      const values = [tenant, run, step, attempt];
      const [answer] = await calls<readonly [there: boolean, boot: string]>({ name: "marked", values });
      if (answer === undefined) return "unknown";
      heard(answer[1]);
      if (answer[1] !== boot || boot === "unknown") return "unknown";
      return answer[0] ? "yes" : "no";
    },
  };
}
