/** A start of a scenario. */
export interface StartedScenario {
  readonly scenario: ScenarioName;
  readonly number: number;
  readonly title: string;
  readonly started_at: number;
  readonly run_id: string | null;
  readonly session: string | null;
  readonly state: string;
  readonly said?: string;
  readonly problem?: string;
}

export type ScenarioName = "support" | "outreach" | "files" | "payment" | "wire";

export interface ReceivedMail {
  readonly from: string;
  readonly to: string;
  readonly subject: string;
  readonly message_id: string;
  readonly received_at: number;
  readonly body: string;
}

/** A file of the working tree, as it was at the start and as it is now. Null: it does not exist. */
export interface TreeFile {
  readonly path: string;
  readonly before: string | null;
  readonly now: string | null;
}

/** The state of the demo, as its supervisor knows it. */
export interface DemoState {
  readonly server: {
    readonly pid: number | null;
    readonly starts: number;
    readonly kills: number;
    readonly is_up: boolean;
  };
  readonly model: { readonly kind: "scripted" | "openai" | "anthropic"; readonly name: string };
  /** An effect that has happened while its sender waits for the answer. */
  readonly acting: {
    readonly what: "mail" | "payment" | "invoice";
    readonly since: number;
    readonly until: number;
  } | null;
  readonly is_armed: boolean;
  readonly mails: readonly ReceivedMail[];
  readonly refunds: readonly { readonly order: number; readonly cents: number; readonly key: string }[];
  readonly invoices: readonly { readonly invoice: string; readonly cents: number; readonly key: string }[];
  readonly files: readonly TreeFile[];
  readonly started: readonly StartedScenario[];
  readonly history: readonly { readonly at: number; readonly text: string }[];
}

/** An effect in the world outside: how often it happened, and how many of these repeat an earlier one. */
export interface EffectCount {
  readonly total: number;
  readonly repeated: number;
}

/** Counts effects by their identity. Two with the same identity are one act that was done twice. */
export function countEffects<Effect>(effects: readonly Effect[], identity: (effect: Effect) => string): EffectCount {
  return { total: effects.length, repeated: effects.length - new Set(effects.map(identity)).size };
}

/** The last start of a scenario, or null. */
export function lastStart(state: DemoState, ...names: readonly ScenarioName[]): StartedScenario | null {
  return state.started.findLast(({ scenario }) => names.includes(scenario)) ?? null;
}
