import type { Effect } from "../../core/values/effect.ts";
import type { Json, JsonObject } from "../../core/values/json.ts";
import type { Engine, EngineOptions } from "../../engine/api/engine-api.ts";
import type { PrincipalInput } from "../../engine/api/principal-input.ts";
import type { ModelScript } from "../scripted-model/model-script.ts";
import type { ScriptedModel } from "../scripted-model/scripted-model.ts";

/** An adapter that the contract is checked for: how a program that uses it is started. */
export interface AdapterUnderTest {
  /** Starts the program. It uses the real client library of the framework against the scripted model. */
  open(setting: AdapterSetting): Promise<AdapterProgram>;
  /** The name in the record of a tool of the contract, or of an unknown tool. Default: the same. */
  toolName?(tool: string): string;
  /** The output of a tool of the contract, from the output on record. Default: the same. */
  outputAsPlainData?(output: Json): Json;
  /** Options of the engine that the program needs, such as slices. */
  readonly engine?: Pick<EngineOptions, "slices">;
  /** The parts of the contract that the framework has no place for. */
  readonly lacks?: readonly AdapterTrait[];
}

/**
 * `model`: the program asks a model, and its answers are recorded. `writes`: tools that only write state. `abort`: the
 * program can be told to stop. `argument texts`: arguments that are no object reach the adapter.
 * `repeated ids`: the framework passes on an id that a model gives twice. `extra arguments`: the framework passes
 * on arguments that the tool does not declare. `large results`: it passes a result of 5 MB on to the model.
 */
export type AdapterTrait =
  | "model"
  | "writes"
  | "abort"
  | "argument texts"
  | "repeated ids"
  | "extra arguments"
  | "large results";

/** The parts of the program of an adapter. */
export interface AdapterSetting {
  readonly engine: Engine;
  readonly session: string;
  readonly principal: PrincipalInput;
  readonly tools: readonly ContractTool[];
  readonly model: ScriptedModel;
  /** The answers of the model, for an adapter whose calls come from no model. */
  readonly script: ModelScript;
  /** The retries of the client library after an error of the provider. */
  readonly maxRetries: number;
}

/** A tool that the program hands to its framework. */
export interface ContractTool {
  readonly name: string;
  readonly description: string;
  readonly effect: Effect;
  /** A JSON Schema. */
  readonly input: JsonObject;
  /** Throws if the input does not fit the schema: for frameworks that take a parser. */
  parse(input: unknown): Json;
  /** The input is JSON: what the model wrote, or what a person made of it. */
  run(input: unknown, signal: AbortSignal | undefined): unknown;
}

/** A running program. */
export interface AdapterProgram {
  /**
   * Asks the model the same question from the beginning, and runs the loop until the model's last text, or until the
   * framework waits for an approval. May reject if the signal aborts or the model fails.
   */
  ask(signal?: AbortSignal): Promise<ProgramAnswer>;
  /** Hands the responses of a chat's user to the framework, and goes on. Absent: the framework knows no approvals. */
  respond?(responses: readonly ApprovalResponse[]): Promise<ProgramAnswer>;
  close(): Promise<void>;
}

export interface ProgramAnswer {
  /** The last text of the model. Null: the framework waits for an approval. */
  readonly text: string | null;
  /** The text about each call, by its id, where no model was told. */
  readonly told?: Readonly<Record<string, string>>;
}

/** The response of a user to a held call. */
export interface ApprovalResponse {
  readonly id: string;
  readonly approved: boolean;
}
