import type { Rng } from "../sim/rng.ts";
import type { Json } from "../src/core/json/json.ts";

/** What the workers are given to do. */
export interface Job {
  /** Its request key; everything that it does in the world is done to someone of this name. */
  readonly name: string;
  readonly tenant: string;
  readonly kind: Kind;
  readonly mode: "auto_exec" | "human_gated";
  readonly steps: readonly Readonly<Record<string, Json>>[];
  /** The deed of each step that leaves one. */
  readonly deeds: Readonly<Record<string, Expected>>;
  /** What someone is to send, and whether before the run is asked for. */
  readonly signal: { readonly key: string; readonly early: boolean } | null;
}

interface Expected {
  readonly did: string;
  readonly to: string;
}

interface Draft {
  readonly steps: readonly Readonly<Record<string, Json>>[];
  readonly mode?: Job["mode"];
  readonly signalled?: boolean;
  /** What other steps leave behind, or other runs do for them. */
  readonly errands?: Readonly<Record<string, string>>;
}

type Call = (step: string, tool: string, more?: Readonly<Record<string, Json>>) => Readonly<Record<string, Json>>;

const drafts = {
  opaque: (call) => ({ steps: [call("ask", "ask"), call("act", "act.opaque", after("ask"))] }),
  keyed: (call) => ({ steps: [call("ask", "ask"), call("act", "act.keyed", after("ask"))] }),
  verifiable: (call) => ({ steps: [call("act", "act.verifiable"), call("ask", "ask", after("act"))] }),
  announced: (call) => ({ steps: [call("act", "act.announced"), call("ask", "ask", after("act"))] }),
  gated: (call) => ({ steps: [call("ask", "ask"), call("act", "act.opaque", after("ask"))], mode: "human_gated" }),
  timed: (call, rng) => ({
    steps: [
      { step_id: "pause", kind: "wait", payload: { ms: rng.between(100, 3000) } },
      call("act", "act.opaque", after("pause")),
    ],
  }),
  signalled: (call, _, name) => ({
    steps: [{ step_id: "word", kind: "wait", payload: { signal: name } }, call("act", "act.keyed", after("word"))],
    signalled: true,
  }),
  errand: (call) => ({
    steps: [call("plan", "plan"), call("act", "act.keyed", after("plan"))],
    errands: { "plan.1": "act.opaque" },
  }),
  child: (call) => ({
    steps: [
      {
        step_id: "child",
        kind: "run",
        payload: { plan: { steps: [{ ...call("child", "act.keyed"), step_id: "in" }] } },
      },
      call("act", "act.opaque", after("child")),
    ],
    errands: { child: "act.keyed" },
  }),
  long: (call) => ({
    steps: [
      call("ask1", "ask"),
      ...[2, 3, 4, 5, 6].map((n) => call(`ask${n}`, "ask", after(`ask${n - 1}`))),
      call("act", "act.opaque", after("ask6")),
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
} as const satisfies Record<string, (call: Call, rng: Rng, name: string) => Draft>;

type Kind = keyof typeof drafts;

const kinds = Object.keys(drafts) as readonly Kind[];
export const tenants = ["acme", "bolt"] as const;

/** The n-th job: every kind comes round. */
export function jobOf(number: number, rng: Rng): Job {
  const name = `job ${number}`;
  const kind = kinds[number % kinds.length] as Kind;
  const to = (step: string): string => `${name} ${step}`;
  const call: Call = (step_id, tool, more = {}) => ({ step_id, name: tool, payload: { to: to(step_id) }, ...more });
  const { steps, mode = "auto_exec", signalled = false, errands = {} }: Draft = drafts[kind](call, rng, name);
  const called = steps
    .filter((step) => step.kind === undefined)
    .map((step) => [`${step.step_id}`, `${step.name}`] as const);
  const deeds = [...called, ...Object.entries(errands)].map(([step, did]) => [step, { did, to: to(step) }] as const);
  return {
    name,
    tenant: tenants[rng.below(tenants.length)] as string,
    kind,
    mode,
    steps,
    deeds: Object.fromEntries(deeds),
    signal: signalled ? { key: name, early: rng.below(2) === 0 } : null,
  };
}

function after(step: string): { readonly depends_on: readonly string[] } {
  return { depends_on: [step] };
}
