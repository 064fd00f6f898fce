import type { Event } from "../../src/core/event.ts";
import { findStep, type Gate, type Step } from "../../src/core/run.ts";
import type { Books } from "../books.ts";
import type { Fact } from "../record.ts";
import { editionOf, keyOf } from "./state.ts";

type Of<Type extends Event["type"]> = Extract<Event, { type: Type }>;

/** I25: what was shown is what runs: nothing of what it was told from has changed when the call starts, and it comes out as it was shown. */
export function judgePreviews(fact: Fact): void {
  const { scene, before, event } = fact;
  if (scene.rules === null || !scene.swarm.desk) return;
  if (event.type === "gate.opened" && event.preview !== undefined) scene.counts.previews += 1;
  if (event.type !== "step.started" && event.type !== "step.succeeded") return;
  const step = findStep(before, event.step_id) as Step;
  const gate = step.gate === null ? undefined : before.gates.get(step.gate);
  if (gate?.preview === undefined || step.cause?.by === "undo") return;
  if (event.type === "step.started") unmoved(fact, event, gate);
  else asShown(fact, event, gate);
}

function unmoved({ scene, before, after }: Fact, event: Of<"step.started">, { preview, gate_id }: Gate): void {
  const { version, reads } = preview?.pins ?? { version: null, reads: {} };
  if (version === null || Object.keys(reads).length === 0) return;
  scene.counts.pinned += 1;
  const then = editionOf(scene, before, version);
  const now = scene.shelf.latest(after.tenant, keyOf(after)) ?? editionOf(scene, after, 0);
  for (const place of Object.keys(reads)) {
    const [was, is] = [placeIn(then?.books, place), placeIn(now?.books, place)];
    if (was !== is)
      scene.violate(`I25: ${before.id} ${event.step_id} was started, and ${place} is ${is}; ${gate_id} showed ${was}`);
  }
}

/** Text of what is there. */
function placeIn(books: Books | undefined, place: string): string {
  const [, slice = "", key] = place.split("/");
  const all = (books as unknown as Readonly<Record<string, object>> | undefined)?.[slice];
  const found = key === undefined ? all : (all as Readonly<Record<string, unknown>> | undefined)?.[key];
  return JSON.stringify(sorted(found) ?? null);
}

function sorted(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)));
}

function asShown({ scene, before }: Fact, { step_id, output, state }: Of<"step.succeeded">, gate: Gate): void {
  const { preview } = gate;
  if (preview?.output !== undefined && JSON.stringify(sorted(preview.output)) !== JSON.stringify(sorted(output)))
    scene.violate(`I25: ${before.id} ${step_id} answered something else than ${gate.gate_id} had shown`);
  const [shown, left] = [preview?.patch, state?.patch ?? []].map((patch) =>
    JSON.stringify(patch?.filter(({ op }) => op !== "init")),
  );
  if (shown !== undefined && shown !== left)
    scene.violate(`I25: ${before.id} ${step_id} wrote ${left}, ${gate.gate_id} had shown ${shown}`);
}
