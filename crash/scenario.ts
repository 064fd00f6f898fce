import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { Json } from "../src/core/json/json.ts";
import type { Budget } from "../src/core/limits/budget.ts";
import type { Resource } from "../src/core/resource.ts";
import type { OpenGate, RunResult } from "../src/core/result.ts";
import type { Slice } from "../src/core/state/slice.ts";
import type { Sighting, Tool } from "../src/core/tool.ts";
import type { Engine } from "../src/engine/api.ts";
import { defineTool } from "../src/schema/define-tool.ts";
import type { Witness } from "./witness.ts";

/** What the tools of a scenario reach for. */
export interface World {
  readonly witness: Witness;
  /** The process may die here. */
  at(point: string): void;
  /** What a tool of this scenario is called where several are on one stage. */
  named(tool: string): string;
}

export interface Scenario {
  readonly about: string;
  readonly mode?: "auto_exec" | "human_gated";
  tools(world: World): readonly Tool[];
  readonly slices?: readonly Slice[];
  /** What its tools change beside the journal, and beside what the world writes down there. */
  resources?(world: string): Readonly<Record<string, Resource>>;
  /** Whose state it works on; its own, unless it is said. */
  readonly project?: string;
  /** What its tools may be called for. */
  budgets?(world: World): readonly Budget[];
  readonly steps: readonly Readonly<Record<string, Json>>[];
  /** What each step that acts does, and to whom: the facts that the witness counts. */
  readonly acts: Readonly<Record<string, Fact>>;
  /** Deeds that change nothing, and how often each may be seen beyond once per process. */
  readonly asks?: readonly Fact[];
  /** What other runs do that this one brings about: once each, neither more nor less. */
  readonly elsewhere?: readonly Fact[];
  /** How the run may end, once nobody has anything to do any more. */
  readonly ends: readonly RunResult["status"][];
  /** Nothing can stay in doubt: a verifier, a promise or a person settles it, and every act has happened once. */
  readonly settles: boolean;
  /** How many workers may lose it in turn before it is parked, if it is alone on its store; else as many as there are. */
  readonly takeovers?: number;
  /** How long a gate waits for its decision. */
  readonly gateMs?: number;
  /** What somebody does before the run is asked for. */
  before?(opening: Omit<Rest, "result">): Promise<unknown>;
  decide?(gate: OpenGate): "approve" | "reject" | "leave";
  /** What a person does about a run at rest. True: something was done, look again. */
  person?(rest: Rest): Promise<boolean>;
}

export interface Fact {
  readonly did: string;
  readonly to: string;
  /** The world looks at the key: the same key twice is one effect. */
  readonly deduped?: boolean;
}

export interface Rest {
  readonly engine: Engine;
  readonly result: RunResult;
  readonly witness: Witness;
}

export const ana = { id: "ana", kind: "person", tenant: "demo" } as const;
export const agent = { id: "agent", kind: "agent", tenant: "demo" } as const;

/** A schema that costs nothing to load: the proof is about dying, not about parsing. */
export function shape<Value>(fits: (value: Value) => boolean = () => true): StandardSchemaV1<Value, Value> {
  const validate = (value: unknown) =>
    fits(value as Value) ? { value: value as Value } : { issues: [{ message: "it does not fit" }] };
  const json = () => ({ type: "object" });
  const standard = { version: 1, vendor: "crash", validate, jsonSchema: { input: json, output: json } } as const;
  return { "~standard": standard };
}

export interface Mail {
  readonly to: string;
  readonly body?: Json;
}

export interface Sent {
  readonly sent: string;
}

/** Sends, and says so. The process may die before and after the mail is out. */
export async function send({ witness, at }: World, { to }: Mail, key: string): Promise<Sent> {
  at("tool.called");
  await witness.act({ did: "send", to, key });
  at("tool.sent");
  return { sent: to };
}

/** A tool that sends a mail, opaque unless told more. */
export function mailer(world: World, more: Partial<Parameters<typeof defineTool>[0]> = {}): Tool {
  return defineTool({
    name: "mail.send",
    effect: "acts",
    input: shape<Mail>(),
    output: shape<Sent>(),
    run: (mail, { key }) => send(world, mail, key),
    ...(more as object),
  });
}

/** Looks for the mail where mails arrive. */
export function inbox({ witness, at }: World): (probe: { readonly input: unknown }) => Sighting {
  return ({ input }) => {
    at("verify.asked");
    const { to } = input as Mail;
    return witness.count("send", to) > 0 ? { saw: "happened", output: { sent: to } } : { saw: "absent" };
  };
}

/** A person who goes and looks, and then says truly whether it happened. */
export async function looks({ engine, result, witness }: Rest, facts: Scenario["acts"]): Promise<boolean> {
  let done = false;
  for (const [step_id, { did, to }] of Object.entries(facts)) {
    if (result.steps[step_id]?.state !== "in_doubt") continue;
    const said = witness.count(did, to) > 0 ? ({ as: "happened", output: { sent: to } } as const) : ABSENT;
    await engine.resolve(result.run_id, step_id, { principal: ana, reason: "I looked", ...said });
    witness.hears(`step.settled ${step_id}`);
    done = true;
  }
  return done;
}

const ABSENT = { as: "absent" } as const;
