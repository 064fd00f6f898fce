import type { Rng } from "../sim/rng.ts";
import type { Json } from "../src/core/values/json.ts";

/** A plan, and the effects that it should have. */
export interface ChaosJob {
  /** Its request key, and the prefix of the targets of its effects. */
  readonly name: string;
  readonly tenant: string;
  readonly kind: JobKind;
  readonly mode: "auto_exec" | "human_gated";
  readonly steps: readonly Readonly<Record<string, Json>>[];
  /** By step: its expected effect. */
  readonly expectedEffects: Readonly<Record<string, ExpectedJobEffect>>;
  /** The signal that a client sends, and whether it sends it before the submission. */
  readonly signal: { readonly key: string; readonly early: boolean } | null;
}

interface ExpectedJobEffect {
  readonly did: string;
  readonly to: string;
}

interface JobDraft {
  readonly steps: readonly Readonly<Record<string, Json>>[];
  readonly mode?: ChaosJob["mode"];
  readonly signalled?: boolean;
  /** Effects of errands and child runs, by step. */
  readonly errands?: Readonly<Record<string, string>>;
}

type StepFactory = (
  step: string,
  tool: string,
  more?: Readonly<Record<string, Json>>,
) => Readonly<Record<string, Json>>;

const jobDrafts = {
  opaque: (call) => ({ steps: [call("ask", "ask"), call("act", "act.opaque", dependsOn("ask"))] }),
  keyed: (call) => ({ steps: [call("ask", "ask"), call("act", "act.keyed", dependsOn("ask"))] }),
  verifiable: (call) => ({ steps: [call("act", "act.verifiable"), call("ask", "ask", dependsOn("act"))] }),
  announced: (call) => ({ steps: [call("act", "act.announced"), call("ask", "ask", dependsOn("act"))] }),
  gated: (call) => ({ steps: [call("ask", "ask"), call("act", "act.opaque", dependsOn("ask"))], mode: "human_gated" }),
  timed: (call, rng) => ({
    steps: [
      { step_id: "pause", kind: "wait", payload: { ms: rng.between(100, 3000) } },
      call("act", "act.opaque", dependsOn("pause")),
    ],
  }),
  signalled: (call, _, name) => ({
    steps: [{ step_id: "word", kind: "wait", payload: { signal: name } }, call("act", "act.keyed", dependsOn("word"))],
    signalled: true,
  }),
  errand: (call) => ({
    steps: [call("plan", "plan"), call("act", "act.keyed", dependsOn("plan"))],
    errands: { "plan.1": "act.opaque" },
  }),
  child: (call) => ({
    steps: [
      {
        step_id: "child",
        kind: "run",
        payload: { plan: { steps: [{ ...call("child", "act.keyed"), step_id: "in" }] } },
      },
      call("act", "act.opaque", dependsOn("child")),
    ],
    errands: { child: "act.keyed" },
  }),
  long: (call) => ({
    steps: [
      call("ask1", "ask"),
      ...[2, 3, 4, 5, 6].map((n) => call(`ask${n}`, "ask", dependsOn(`ask${n - 1}`))),
      call("act", "act.opaque", dependsOn("ask6")),
    ],
  }),
  wide: (call) => ({
    steps: [
      ...[1, 2].map((n) => call(`ask${n}`, "ask")),
      ...[1, 2].map((n) => call(`opaque${n}`, "act.opaque")),
      call("keyed", "act.keyed"),
      call("verifiable", "act.verifiable"),
      call("act", "act.announced", { depends_on: ["ask1", "ask2", "keyed"] }),
    ],
  }),
} as const satisfies Record<string, (call: StepFactory, rng: Rng, name: string) => JobDraft>;

type JobKind = keyof typeof jobDrafts;

const jobKinds = Object.keys(jobDrafts) as readonly JobKind[];
export const chaosTenants = ["acme", "bolt"] as const;

/** Returns the n-th job. The kinds alternate. */
export function drawJob(number: number, rng: Rng): ChaosJob {
  const name = `job ${number}`;
  const kind = jobKinds[number % jobKinds.length] as JobKind;
  const to = (step: string): string => `${name} ${step}`;
  const call: StepFactory = (step_id, tool, more = {}) => ({
    step_id,
    name: tool,
    payload: { to: to(step_id) },
    ...more,
  });
  const { steps, mode = "auto_exec", signalled = false, errands = {} }: JobDraft = jobDrafts[kind](call, rng, name);
  const calls = steps
    .filter((step) => step.kind === undefined)
    .map((step) => [`${step.step_id}`, `${step.name}`] as const);
  const expectedEffects = [...calls, ...Object.entries(errands)].map(
    ([step, did]) => [step, { did, to: to(step) }] as const,
  );
  return {
    name,
    tenant: chaosTenants[rng.below(chaosTenants.length)] as string,
    kind,
    mode,
    steps,
    expectedEffects: Object.fromEntries(expectedEffects),
    signal: signalled ? { key: name, early: rng.below(2) === 0 } : null,
  };
}

function dependsOn(step: string): { readonly depends_on: readonly string[] } {
  return { depends_on: [step] };
}
