import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { Budget } from "../src/core/limits/budget.ts";
import type { Resource } from "../src/core/ports/resource.ts";
import type { OpenGate } from "../src/core/run/gate-details.ts";
import type { RunResult } from "../src/core/run/run-result.ts";
import type { Slice } from "../src/core/state/slice.ts";
import type { Sighting, Tool } from "../src/core/tool/tool.ts";
import type { Json, JsonObject } from "../src/core/values/json.ts";
import type { Engine } from "../src/engine/api/engine-api.ts";
import type { OpenRun } from "../src/engine/api/open-run-api.ts";
import { defineTool } from "../src/schema/define-tool.ts";
import type { WorldLog } from "./world-log.ts";

/** The environment of the tools of a scenario. */
export interface ScenarioWorld {
  readonly worldLog: WorldLog;
  /** Marks a kill point. */
  at(point: string): void;
  /** Returns the name of a tool, prefixed so that several scenarios can share a store. */
  named(tool: string): string;
}

export interface Scenario {
  readonly about: string;
  readonly mode?: "auto_exec" | "human_gated";
  tools(world: ScenarioWorld): readonly Tool[];
  readonly slices?: readonly Slice[];
  /** The resources of its tools, beside the world log. */
  resources?(world: string): Readonly<Record<string, Resource>>;
  /** The project of its run; none by default. */
  readonly project?: string;
  /** True: it is submitted without a request key. A later process finds its run by a label. */
  readonly keyless?: true;
  /** The budgets of its tools. */
  budgets?(world: ScenarioWorld): readonly Budget[];
  readonly steps: readonly Readonly<Record<string, Json>>[];
  /** The tool that is asked for another plan if its plan does not complete. */
  readonly replanner?: string;
  /** Present if its plan is rolled back as a whole. */
  readonly atomicity?: "plan";
  /** By step that acts: its effect in the world. */
  readonly acts: Readonly<Record<string, ExpectedEffect>>;
  /** Calls that change nothing, and that may repeat once per killed process. */
  readonly calls?: readonly ExpectedEffect[];
  /** Effects of runs that this run causes; each must happen exactly once. */
  readonly indirectEffects?: readonly ExpectedEffect[];
  /** The allowed final statuses. */
  readonly endStatuses: readonly RunResult["status"][];
  /** True if a verifier, a promise or a person settles every doubt, so that every act happens once. */
  readonly settlesAllDoubts: boolean;
  /** The takeovers after which the run is parked, if it is alone on its store; unlimited by default. */
  readonly takeovers?: number;
  /** True: the first process of a pair lacks the tool of the last step, and hands the run over. */
  readonly isHandedOver?: true;
  /** The number of calls after which the run of a session is full. */
  readonly segmentSteps?: number;
  /** The time limit of its gates. */
  readonly gateMs?: number;
  /** Present: no plan is submitted. This is the loop of an agent on the open run of a session, the same at every start. */
  agent?(start: AgentStart): Promise<void>;
  /** An action before the submission. */
  before?(start: ScenarioStart): Promise<unknown>;
  decide?(gate: OpenGate): "approve" | "reject" | "leave";
  /** The input with which a person approves a call instead of its own. */
  readonly edit?: Json;
  /** The values that a person supplies at a gate that asks for them. */
  readonly data?: JsonObject;
  /** An action of a person on the run; returns true if the run has to be read again. */
  person?(recovered: ScenarioRun): Promise<boolean>;
}

export interface ExpectedEffect {
  readonly did: string;
  readonly to: string;
  /** True: the world deduplicates by key. */
  readonly deduped?: boolean;
}

export interface ScenarioRun extends ScenarioStart {
  readonly result: RunResult;
  /** Submits the request of the run again, with `retryFailed`. */
  retry(): Promise<unknown>;
}

/** The environment of the loop of an agent. */
export interface AgentStart extends ScenarioStart, Pick<ScenarioWorld, "named" | "at"> {
  readonly run: OpenRun;
}

/** The environment of a scenario before its run is submitted. */
export interface ScenarioStart {
  readonly engine: Engine;
  readonly worldLog: WorldLog;
}

export const personAna = { id: "ana", kind: "person", tenant: "demo" } as const;
export const agentPrincipal = { id: "agent", kind: "agent", tenant: "demo" } as const;

/** Returns a trivial schema without the load time of a validator, which these tests do not need. */
export function cheapSchema<Value>(isValid: (value: Value) => boolean = () => true): StandardSchemaV1<Value, Value> {
  const validate = (value: unknown) =>
    isValid(value as Value) ? { value: value as Value } : { issues: [{ message: "the value is invalid" }] };
  const json = () => ({ type: "object" });
  const standard = { version: 1, vendor: "crash", validate, jsonSchema: { input: json, output: json } } as const;
  return { "~standard": standard };
}

export interface MailInput {
  readonly to: string;
  readonly body?: Json;
}

export interface MailOutput {
  readonly sent: string;
}

/** Sends a mail, with kill points before and after it. */
export async function sendLoggedMail(
  { worldLog, at }: Pick<ScenarioWorld, "worldLog" | "at">,
  { to }: MailInput,
  key: string,
): Promise<MailOutput> {
  at("tool.called");
  await worldLog.appendAsync({ did: "send", to, key });
  at("tool.sent");
  return { sent: to };
}

/** Returns a tool that sends a mail; without `more` it is not verifiable. */
export function mailTool(world: ScenarioWorld, more: Partial<Parameters<typeof defineTool>[0]> = {}): Tool {
  return defineTool({
    name: "mail.send",
    effect: "acts",
    input: cheapSchema<MailInput>(),
    output: cheapSchema<MailOutput>(),
    run: (mail, { key }) => sendLoggedMail(world, mail, key),
    ...(more as object),
  });
}

/** Returns a verifier that looks for the mail in the world log. */
export function verifyMail({ worldLog, at }: ScenarioWorld): (probe: { readonly input: unknown }) => Sighting {
  return ({ input }) => {
    at("verify.asked");
    const { to } = input as MailInput;
    return worldLog.count("send", to) > 0 ? { saw: "happened", output: { sent: to } } : { saw: "absent" };
  };
}

/** Resolves each act in doubt as a person who checks the world log. */
export async function resolveByLooking(
  { engine, result, worldLog }: ScenarioRun,
  effects: Scenario["acts"],
): Promise<boolean> {
  let done = false;
  for (const [step_id, { did, to }] of Object.entries(effects)) {
    if (result.steps[step_id]?.state !== "in_doubt") continue;
    const resolution =
      worldLog.count(did, to) > 0 ? ({ as: "happened", output: { sent: to } } as const) : RESOLVE_ABSENT;
    await engine.resolve(result.run_id, step_id, {
      principal: personAna,
      reason: "checked in the world log",
      ...resolution,
    });
    worldLog.recordReport(`step.settled ${step_id}`);
    done = true;
  }
  return done;
}

const RESOLVE_ABSENT = { as: "absent" } as const;
