import type { Event } from "../../src/core/event.ts";
import type { Tenant } from "../../src/core/id.ts";
import type { Json, JsonObject } from "../../src/core/json/json.ts";
import { stateTools } from "../../src/core/plan/plan-roster.ts";
import type { StatePoint } from "../../src/core/rows.ts";
import { findStep, type Run, type Step } from "../../src/core/run.ts";
import type { StateChange } from "../../src/core/state/state-change.ts";
import { createEngine } from "../../src/engine/engine.ts";
import { after, type Books, booksText, type Deed, EMPTY, lasting, patched } from "../books.ts";
import { booksOf, deedOf, readOf, slices } from "../desk.ts";
import type { Fact } from "../record.ts";
import type { Scene } from "../scene.ts";
import type { Edition } from "../shelf.ts";

/**
 * I20: state is what the calls that succeeded make of it, one after the other in the order of their versions; nothing of a failed
 * one is in it but its logs. I21: every commit is one version, laid upon the one before, and none is missing.
 */
export function judgeState(fact: Fact): void {
  const { scene, event } = fact;
  if (!scene.swarm.desk) return;
  const change = "state" in event ? event.state : undefined;
  if (change !== undefined) commit(fact, change);
  else if (event.type === "step.succeeded") unchanged(fact, event);
  else if (event.type === "step.failed") silenced(fact, event);
}

type Ended = Extract<Event, { type: "step.succeeded" | "step.failed" }>;

/** Where a run's state is, in the words of the design. */
export function keyOf({ id, project, origin, forked }: Run): string {
  if (forked !== null) return `run:${id}`;
  return project === null ? `run:${origin}` : `project:${project}`;
}

/** What a run's state begins with: nothing, or what another had come to. */
function beginning({ shelf }: Scene, run: Run): Edition {
  const from = run.forked?.state ?? null;
  return { version: 0, point: from, books: (from && shelf.at(from.commit)?.books) ?? EMPTY };
}

function commit({ scene, before, event, after: now }: Fact, change: StateChange): void {
  const { shelf, counts, violate } = scene;
  const where = `${before.id} at ${now.position} (${event.type})`;
  if (change.project !== keyOf(now)) violate(`I20: ${where} changed ${change.project}, its state is ${keyOf(now)}`);
  const last = shelf.latest(now.tenant, change.project) ?? beginning(scene, now);
  if (change.version !== last.version + 1)
    violate(`I21: ${where} made version ${change.version} of ${change.project}, there are ${last.version}`);
  if (!samePoint(change.upon, last.point)) violate(`I21: ${where} is not laid upon the version before it`);
  const books = patched(last.books, change.patch);
  const wrong = wrongChange(scene, now, event, last, books);
  if (wrong !== null) violate(`I20: ${where} ${wrong}: ${booksText(last.books)} → ${booksText(books)}`);
  if ("base" in event && (event.base ?? 0) < last.version && event.type === "step.succeeded") counts.rebases += 1;
  counts.commits += 1;
  const point = { run_id: now.id, position: now.position, commit: change.commit };
  shelf.add(now.tenant, change.project, { version: change.version, point, books });
}

function samePoint(left: StatePoint | null, right: StatePoint | null): boolean {
  return left?.commit === right?.commit && left?.run_id === right?.run_id && left?.position === right?.position;
}

function wrongChange(scene: Scene, run: Run, event: Event, last: Edition, books: Books): string | null {
  if (event.type === "state.restored") return wrongRestore(scene, run, event.to, last, books);
  if (event.type !== "step.succeeded" && event.type !== "step.failed") return "changes state, which it cannot";
  if (event.type === "step.failed" && event.fault.code === "STATE_CONFLICT" && event.retry_at !== null)
    return "left something, though it was overtaken";
  const said = deedsOf(scene, run, event);
  const made = said.map((deeds) => after(last.books, event.type === "step.failed" ? lasting(deeds) : deeds));
  const same = made.some((each) => each !== null && booksText(each) === booksText(books));
  return same ? null : `left what no such call would have left after the others (${JSON.stringify(said)})`;
}

/** State is what it was then, but for what cannot be taken back. */
function wrongRestore(scene: Scene, run: Run, to: number, last: Edition, books: Books): string | null {
  scene.counts.restores += 1;
  const then = editionOf(scene, run, to);
  if (then === null) return `went back to version ${to}, which there is not`;
  const same = booksText({ ...then.books, diary: last.books.diary }) === booksText(books);
  return same ? null : `did not go back to what was at version ${to}`;
}

export function editionOf(scene: Scene, run: Run, version: number): Edition | null {
  return version === 0 ? beginning(scene, run) : scene.shelf.version(run.tenant, keyOf(run), version);
}

/** What each worker that made the call did in it; a worker that lost the run may have made it, too. */
function deedsOf({ shelf }: Scene, run: Run, { step_id, attempt }: Ended): readonly (readonly Deed[])[] {
  const step = findStep(run, step_id) as Step;
  if (step.spec.name === stateTools.state_write) return [[deedOf(step.spec.payload as JsonObject)]];
  return shelf.workOf(run.id, step_id, attempt);
}

/** A call that left no version changed nothing, and what it saw was there. */
function unchanged({ scene, after: run }: Fact, event: Extract<Ended, { type: "step.succeeded" }>): void {
  const { base, reused, step_id, attempt } = event;
  if (base === undefined || reused !== undefined) return;
  const seen = editionOf(scene, run, base);
  const where = `${run.id} ${step_id}.${attempt}`;
  if (seen === null) {
    scene.violate(`I21: ${where} worked on version ${base} of ${keyOf(run)}, which there is not`);
    return;
  }
  const { spec } = findStep(run, step_id) as Step;
  if (spec.name === stateTools.state_read) {
    scene.counts.stateReads += 1;
    const found = readOf(seen.books, spec.payload as JsonObject) as Json;
    if (JSON.stringify(found) !== JSON.stringify(event.output))
      scene.violate(`I20: ${where} read ${JSON.stringify(event.output)}, there was ${JSON.stringify(found)}`);
    return;
  }
  const said = deedsOf(scene, run, event);
  const idle = (deeds: readonly Deed[]) => {
    const books = after(seen.books, deeds);
    return books !== null && booksText(books) === booksText(seen.books);
  };
  if (said.length > 0 && !said.some(idle))
    scene.violate(`I20: ${where} succeeded, and nothing of it is in state: ${JSON.stringify(said)}`);
}

/** What a failed call had said to logs is in them, unless it was overtaken and is made again. */
function silenced({ scene, after: run }: Fact, event: Extract<Ended, { type: "step.failed" }>): void {
  const { base, fault, retry_at, step_id, attempt } = event;
  if (base === undefined || (fault.code === "STATE_CONFLICT" && retry_at !== null)) return;
  const said = deedsOf(scene, run, event);
  if (said.length > 0 && said.every((deeds) => lasting(deeds).length > 0))
    scene.violate(`I20: ${run.id} ${step_id}.${attempt} failed, and what it said to logs is lost`);
}

/** At rest: whoever opens a state finds what its versions add up to. */
export async function judgeShelf(scene: Scene): Promise<void> {
  const { shelf, store, violate } = scene;
  if (!scene.swarm.desk) return;
  const engine = await createEngine({ store, slices, tools: [], work: false, timers: { after: () => () => {} } });
  for (const { tenant, project, edition } of shelf.all()) {
    const [, kind, name = ""] = /^(project|run):(.*)$/.exec(project) ?? [];
    const principal = { id: "archivist", kind: "person", tenant } as const;
    const { version, slice } = await engine.state({
      principal,
      ...(kind === "run" ? { runId: name } : { project: name }),
    });
    const text = booksText(booksOf(slice));
    if (version !== edition.version || text !== booksText(edition.books))
      violate(`I20: ${project} of ${tenant} is ${text} at ${version}, not ${booksText(edition.books)}`);
  }
}

/** What someone who looks is shown is a version that there was, and none older than what was there when they asked. */
export function judgeView(
  { shelf, violate }: Scene,
  tenant: Tenant,
  project: string,
  shown: Pick<Edition, "version" | "books">,
  asked: number,
): void {
  if (shown.version < asked) violate(`I20: ${project} of ${tenant} was shown as of ${shown.version}, it was ${asked}`);
  const books = shown.version === 0 ? EMPTY : shelf.version(tenant, project, shown.version)?.books;
  if (books === undefined || booksText(books) !== booksText(shown.books))
    violate(`I20: ${project} of ${tenant} was shown as ${booksText(shown.books)} at version ${shown.version}`);
}
