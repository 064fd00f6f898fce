import type { EngineOptions } from "../../engine/api/engine-api.ts";
import type { ModelScript } from "../scripted-model/model-script.ts";
import type { AdapterTrait } from "./adapter-under-test.ts";
import type { ContractEnvironment, ToolWork } from "./contract-environment.ts";

/** One scenario of the contract. It is played with the adapter and with direct calls, and both leave the same record. */
export interface AdapterScenario {
  readonly title: string;
  /** The adapters that lack one of these do not play the scenario. */
  readonly needs?: readonly AdapterTrait[];
  /** Makes the answers of the model anew, for each play. */
  readonly script: () => ModelScript;
  /** True: acts are held for a person. Default: false. */
  readonly gated?: boolean;
  readonly engine?: Partial<EngineOptions>;
  readonly work?: Readonly<Record<string, ToolWork>>;
  readonly maxRetries?: number;
  /** False: when the call goes on depends on the adapter, so the records are not compared. Default: true. */
  readonly isCompared?: boolean;
  /** Plays the scenario and checks what every adapter promises. */
  play(stage: ContractEnvironment): Promise<void>;
}
