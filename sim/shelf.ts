import type { RunId, StepId, Tenant } from "../src/core/id.ts";
import type { StatePoint } from "../src/core/rows.ts";
import type { ToolContext } from "../src/core/tool.ts";
import type { Books, Deed } from "./books.ts";

/** State at one version, where it is told, and the books as they were then. */
export interface Edition {
  readonly version: number;
  /** Null: before anything was written. */
  readonly point: StatePoint | null;
  readonly books: Books;
}

interface Project {
  readonly tenant: Tenant;
  readonly project: string;
  readonly editions: Edition[];
}

/** Every version of every state, and what calls did with it. */
export class Shelf {
  readonly #projects = new Map<string, Project>();
  /** By attempt: a worker that has lost a run without knowing may make a call that another makes, too. */
  readonly #work = new Map<string, (readonly Deed[])[]>();

  add(tenant: Tenant, project: string, edition: Edition): void {
    const name = `${tenant} ${project}`;
    const known = this.#projects.get(name);
    if (known === undefined) this.#projects.set(name, { tenant, project, editions: [edition] });
    else known.editions.push(edition);
  }

  latest(tenant: Tenant, project: string): Edition | undefined {
    return this.#projects.get(`${tenant} ${project}`)?.editions.at(-1);
  }

  version(tenant: Tenant, project: string, version: number): Edition | null {
    return this.#projects.get(`${tenant} ${project}`)?.editions[version - 1] ?? null;
  }

  at(commit: string): Edition | undefined {
    for (const { editions } of this.#projects.values())
      for (const edition of editions) if (edition.point?.commit === commit) return edition;
    return undefined;
  }

  /** Each state as it is now. */
  *all(): Iterable<{ readonly tenant: Tenant; readonly project: string; readonly edition: Edition }> {
    for (const { tenant, project, editions } of this.#projects.values()) {
      const edition = editions.at(-1);
      if (edition !== undefined) yield { tenant, project, edition };
    }
  }

  /** What is there now. Call it, and it is all that there is. */
  memory(): () => void {
    const lengths = new Map(Array.from(this.#projects, ([name, { editions }]) => [name, editions.length]));
    return () => {
      for (const [name, { editions }] of this.#projects) editions.length = lengths.get(name) ?? 0;
    };
  }

  /** A call begins to work; what it does is added as it does it. */
  works({ run_id, step_id, attempt }: ToolContext, deeds: readonly Deed[]): void {
    const name = `${run_id} ${step_id} ${attempt}`;
    const known = this.#work.get(name);
    if (known === undefined) this.#work.set(name, [deeds]);
    else known.push(deeds);
  }

  workOf(run: RunId, step: StepId, attempt: number): readonly (readonly Deed[])[] {
    return this.#work.get(`${run} ${step} ${attempt}`) ?? [];
  }
}
