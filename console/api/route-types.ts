import type { WithoutPrincipal } from "../../src/client/client.ts";
import type { TranscriptEntry } from "../../src/core/run/transcript.ts";
import type { Engine, RecordedEvent, RunProgress } from "../../src/engine/api/engine-api.ts";
import type { SessionTurn } from "../../src/engine/api/open-run-api.ts";
import type { RecordedSlice, StateSnapshot, StateView } from "../../src/engine/api/state-api.ts";

/** A page of a list, as the HTTP API answers it. `next`: the cursor of the next page. */
export interface Page<Row> {
  readonly items: readonly Row[];
  readonly next: string | null;
  readonly count: number | null;
}

type LastOf<Given> = Given extends readonly [...unknown[], infer Last] ? Last : never;
type OptionsOf<Method> = Method extends (...given: infer Given) => unknown
  ? WithoutPrincipal<NonNullable<LastOf<Required<Given>>>>
  : never;
type AnswerOf<Method> = Method extends (...given: never[]) => infer Result ? Awaited<Result> : never;
type ItemOf<List> = List extends readonly (infer Item)[] ? Item : never;

/** A route whose options and answer are those of the verb of the engine, with the arguments before the options. */
type Verb<Method, Given extends object = object> = {
  readonly takes: Given & OptionsOf<Method>;
  readonly answers: AnswerOf<Method>;
};
type List<Method, Given extends object = object> = {
  readonly takes: Given & OptionsOf<Method>;
  readonly answers: Page<ItemOf<AnswerOf<Method>>>;
};

type OfRun = { readonly run_id: string };
type OfGate = { readonly gate_id: string };
type OfProject = { readonly project: string };
type Handle = { readonly run_id: string; readonly attached: boolean };
type Checkpoints = Engine["checkpoints"];

/**
 * The routes that the console calls: the fields that each takes, named as in the engine (arguments in the path as in the
 * route table), and its answer.
 */
export interface RouteTypes {
  readonly runs: List<Engine["runs"]>;
  readonly gates: List<Engine["gates"]>;
  readonly inDoubt: List<Engine["inDoubt"]>;
  readonly outcomes: List<Engine["outcomes"]>;

  readonly gate: Verb<Engine["gate"], OfGate>;
  readonly approve: Verb<Engine["approve"], OfGate>;
  readonly reject: Verb<Engine["reject"], OfGate>;
  readonly resolve: Verb<Engine["resolve"], OfRun & { readonly step_id: string }>;

  readonly submit: {
    readonly takes: { readonly plan: unknown } & OptionsOf<Engine["submit"]>;
    readonly answers: Handle;
  };
  readonly call: Verb<Engine["call"], { readonly tool: string; readonly input: unknown }>;
  readonly check: { readonly takes: { readonly plan: unknown }; readonly answers: AnswerOf<Engine["check"]> };
  readonly simulate: Verb<Engine["simulate"], { readonly plan: unknown }>;
  readonly signal: Verb<Engine["signal"], { readonly key: string; readonly payload: unknown }>;
  readonly "run.now": { readonly takes: OfRun; readonly answers: RunProgress };
  readonly "run.events": {
    readonly takes: OfRun & { readonly after?: number; readonly limit?: number };
    readonly answers: { readonly events: readonly RecordedEvent[]; readonly next: number | null };
  };
  readonly "run.transcript": { readonly takes: OfRun; readonly answers: readonly TranscriptEntry[] };
  readonly "run.turns": { readonly takes: OfRun; readonly answers: readonly SessionTurn[] };
  readonly "run.export": {
    readonly takes: OfRun & { readonly format?: "journal" | "otlp" };
    readonly answers: Readonly<Record<string, unknown>>;
  };
  readonly "run.cancel": { readonly takes: OfRun & { readonly reason?: string }; readonly answers: undefined };
  readonly resume: { readonly takes: OfRun & { readonly reason?: string }; readonly answers: Handle };
  readonly undo: Verb<Engine["undo"], OfRun>;
  readonly verify: Verb<Engine["verify"], OfRun>;
  readonly cost: Verb<Engine["cost"], OfRun>;

  readonly state: {
    readonly takes: OptionsOf<Engine["state"]>;
    readonly answers: Pick<StateView, "version" | "at"> & {
      readonly slices: Readonly<Record<string, RecordedSlice>>;
      readonly snapshot: StateSnapshot;
    };
  };
  readonly "checkpoints.list": Verb<Checkpoints["list"]>;
  readonly "checkpoints.diff": Verb<Checkpoints["diff"], CheckpointPair>;
  readonly "checkpoints.restore": Verb<Checkpoints["restore"], { readonly at: Parameters<Checkpoints["restore"]>[0] }>;
  readonly "checkpoints.fork": {
    readonly takes: { readonly at: Parameters<Checkpoints["fork"]>[0] } & OptionsOf<Checkpoints["fork"]>;
    readonly answers: Handle;
  };

  readonly "projects.list": Verb<Engine["projects"]["list"]>;
  readonly "projects.history": Verb<Engine["projects"]["history"], OfProject>;
  readonly "projects.revert": Verb<Engine["projects"]["revert"], OfProject & { readonly version: number }>;
  readonly "projects.closure": Verb<Engine["projects"]["closure"], OfProject>;
  readonly "projects.close": Verb<Engine["projects"]["close"], OfProject>;
  readonly "projects.open": Verb<Engine["projects"]["open"], OfProject>;

  readonly "schedules.list": Verb<Engine["schedules"]["list"]>;
  readonly "schedules.set": Verb<Engine["schedules"]["set"], { readonly schedule: string; readonly plan: unknown }>;
  readonly "schedules.pause": Verb<Engine["schedules"]["pause"], { readonly schedule: string }>;
  readonly "schedules.resume": Verb<Engine["schedules"]["resume"], { readonly schedule: string }>;
  readonly "schedules.remove": Verb<Engine["schedules"]["remove"], { readonly schedule: string }>;
  readonly "policies.list": Verb<Engine["policies"]["list"]>;
  readonly "policies.set": Verb<Engine["policies"]["set"], { readonly document: unknown }>;
  readonly "policies.get": Verb<Engine["policies"]["get"], { readonly name: string }>;
  readonly "policies.history": Verb<Engine["policies"]["history"]>;
  readonly "policies.test": Verb<Engine["policies"]["test"], { readonly document: unknown }>;
  readonly "policies.remove": Verb<Engine["policies"]["remove"], { readonly name: string }>;
  readonly "halts.list": Verb<Engine["halts"]["list"]>;
  readonly "halts.set": Verb<Engine["halts"]["set"]>;
  readonly "halts.lift": Verb<Engine["halts"]["lift"]>;
  readonly "tools.list": Verb<Engine["tools"]["list"]>;
  readonly "tools.activity": Verb<Engine["tools"]["activity"]>;
  readonly workers: Verb<Engine["workers"]>;
  readonly spent: Verb<Engine["spent"]>;
  readonly spentByDay: Verb<Engine["spentByDay"]>;
  readonly budgets: Verb<Engine["budgets"]>;
  readonly audit: Verb<Engine["audit"]>;
  readonly retentions: Verb<Engine["retentions"]>;
  readonly backups: Verb<Engine["backups"]>;
}

interface CheckpointPair {
  readonly from: Parameters<Checkpoints["diff"]>[0];
  readonly to: Parameters<Checkpoints["diff"]>[1];
}
