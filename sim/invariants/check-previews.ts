import type { Event } from "../../src/core/event/event.ts";
import { findStep, type Gate, type Step } from "../../src/core/run/run.ts";
import type { ObservedEvent } from "../journal-observer.ts";
import type { StateModel } from "../state-model.ts";
import { findStateVersion, stateKey } from "./check-state.ts";

type EventOf<Type extends Event["type"]> = Extract<Event, { type: Type }>;

/** I25: the data behind a preview is unchanged when its call starts, and the result equals the preview. */
export function checkPreviews(observedEvent: ObservedEvent): void {
  const { sim, before, event } = observedEvent;
  if (sim.rules === null || !sim.config.usesState) return;
  if (event.type === "gate.opened" && event.preview !== undefined) sim.counts.previews += 1;
  if (event.type !== "step.started" && event.type !== "step.succeeded") return;
  const step = findStep(before, event.step_id) as Step;
  const gate = step.gate === null ? undefined : before.gates.get(step.gate);
  if (gate?.preview === undefined || step.cause?.by === "undo") return;
  if (event.type === "step.started") checkInputsUnchanged(observedEvent, event, gate);
  else checkOutputAsShown(observedEvent, event, gate);
}

function checkInputsUnchanged(
  { sim, before, after }: ObservedEvent,
  event: EventOf<"step.started">,
  { preview, gate_id }: Gate,
): void {
  const { version, reads } = preview?.pins ?? { version: null, reads: {} };
  if (version === null || Object.keys(reads).length === 0) return;
  sim.counts.pinned += 1;
  const then = findStateVersion(sim, before, version);
  const now = sim.stateVersions.latest(after.tenant, stateKey(after)) ?? findStateVersion(sim, after, 0);
  for (const place of Object.keys(reads)) {
    const [was, is] = [textAt(then?.model, place), textAt(now?.model, place)];
    if (was !== is)
      sim.violate(
        `I25: ${before.id} ${event.step_id} was started with ${place} = ${is}; the preview of ${gate_id} used ${was}`,
      );
  }
}

/** Returns the value at a path of the state, as text. */
function textAt(model: StateModel | undefined, place: string): string {
  const [, slice = "", key] = place.split("/");
  const all = (model as unknown as Readonly<Record<string, object>> | undefined)?.[slice];
  const found = key === undefined ? all : (all as Readonly<Record<string, unknown>> | undefined)?.[key];
  return JSON.stringify(sortKeys(found) ?? null);
}

function sortKeys(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)));
}

function checkOutputAsShown(
  { sim, before }: ObservedEvent,
  { step_id, output, state }: EventOf<"step.succeeded">,
  gate: Gate,
): void {
  const { preview } = gate;
  if (preview?.output !== undefined && JSON.stringify(sortKeys(preview.output)) !== JSON.stringify(sortKeys(output)))
    sim.violate(`I25: ${before.id} ${step_id} has a result other than the preview of ${gate.gate_id}`);
  const [shown, left] = [preview?.patch, state?.patch ?? []].map((patch) =>
    JSON.stringify(patch?.filter(({ op }) => op !== "init")),
  );
  if (shown !== undefined && shown !== left)
    sim.violate(`I25: ${before.id} ${step_id} wrote ${left}, the preview of ${gate.gate_id} is ${shown}`);
}
