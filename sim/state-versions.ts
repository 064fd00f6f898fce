import type { StatePoint } from "../src/core/store/tables.ts";
import type { ToolContext } from "../src/core/tool/tool.ts";
import type { RunId, StepId, Tenant } from "../src/core/values/ids.ts";
import type { StateModel, StateOperation } from "./state-model.ts";

/** One version of a state: its event and its content. */
export interface ModelVersion {
  readonly version: number;
  /** Null: no version was written before. */
  readonly point: StatePoint | null;
  readonly model: StateModel;
}

interface ProjectVersions {
  readonly tenant: Tenant;
  readonly project: string;
  readonly modelVersions: ModelVersion[];
}

/** All versions of all states, and the operations of calls on them. */
export class StateVersions {
  readonly #projects = new Map<string, ProjectVersions>();
  /** By attempt: a worker that lost the run without knowing may make a call that another worker makes too. */
  readonly #operationsByAttempt = new Map<string, (readonly StateOperation[])[]>();

  add(tenant: Tenant, project: string, modelVersion: ModelVersion): void {
    const name = `${tenant} ${project}`;
    const known = this.#projects.get(name);
    if (known === undefined) this.#projects.set(name, { tenant, project, modelVersions: [modelVersion] });
    else known.modelVersions.push(modelVersion);
  }

  latest(tenant: Tenant, project: string): ModelVersion | undefined {
    return this.#projects.get(`${tenant} ${project}`)?.modelVersions.at(-1);
  }

  find(tenant: Tenant, project: string, version: number): ModelVersion | null {
    return this.#projects.get(`${tenant} ${project}`)?.modelVersions[version - 1] ?? null;
  }

  findByCommit(commit: string): ModelVersion | undefined {
    for (const { modelVersions } of this.#projects.values())
      for (const modelVersion of modelVersions) if (modelVersion.point?.commit === commit) return modelVersion;
    return undefined;
  }

  /** Returns the latest version of each state. */
  *all(): Iterable<{ readonly tenant: Tenant; readonly project: string; readonly modelVersion: ModelVersion }> {
    for (const { tenant, project, modelVersions } of this.#projects.values()) {
      const modelVersion = modelVersions.at(-1);
      if (modelVersion !== undefined) yield { tenant, project, modelVersion };
    }
  }

  /** Saves the current versions; the returned function removes later ones. */
  save(): () => void {
    const lengths = new Map(Array.from(this.#projects, ([name, { modelVersions }]) => [name, modelVersions.length]));
    return () => {
      for (const [name, { modelVersions }] of this.#projects) modelVersions.length = lengths.get(name) ?? 0;
    };
  }

  /** Records the operations of a call. The caller adds to the list while the call runs. */
  addOperations({ run_id, step_id, attempt }: ToolContext, operations: readonly StateOperation[]): void {
    const name = `${run_id} ${step_id} ${attempt}`;
    const known = this.#operationsByAttempt.get(name);
    if (known === undefined) this.#operationsByAttempt.set(name, [operations]);
    else known.push(operations);
  }

  operationsOf(run: RunId, step: StepId, attempt: number): readonly (readonly StateOperation[])[] {
    return this.#operationsByAttempt.get(`${run} ${step} ${attempt}`) ?? [];
  }
}
