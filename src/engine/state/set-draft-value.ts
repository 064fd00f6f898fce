import { parsePointer, pointerTo } from "../../core/json/json-pointer.ts";
import type { ExpectedEffect } from "../../core/plan/plan.ts";
import { parseListIndex } from "../../core/state/project-state.ts";
import type { ListDraft, MapDraft, Slice } from "../../core/state/slice.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { Json } from "../../core/values/json.ts";

export type SliceWriter = ListDraft<Json> | MapDraft<Json>;

/** Sets the value at a pointer into state. Throws STATE_INVALID if the pointer names no entry. */
export function setDraftValue(
  slices: readonly Slice[],
  { state: path, value }: ExpectedEffect,
  open: (slice: Slice) => SliceWriter,
): void {
  const { slice, key, inside } = findLocation(slices, path);
  const draft = open(slice);
  const index = key === null ? null : parseListIndex(key);
  if (slice.shape === "map" && key !== null) {
    if (inside === "") (draft as MapDraft<Json>).set(key, value);
    else (draft as MapDraft<Json>).setAt(key, inside, value);
  } else if (key === "-" && inside === "") (draft as ListDraft<Json>).append(value);
  else if (index !== null && inside === "") (draft as ListDraft<Json>).set(index, value);
  else throw stateInvalidError(`${path} is no entry; name one, or /slice/- for one more of a list`);
}

interface StateLocation {
  readonly slice: Slice;
  readonly key: string | null;
  readonly inside: string;
}

/** Finds the slice of a pointer. Throws STATE_INVALID if the engine has none of that name. */
export function findLocation(slices: readonly Slice[], path: string): StateLocation {
  const [name = "", key = null, ...inside] = parsePointer(path) ?? [];
  const slice = slices.find((known) => known.name === name);
  if (slice === undefined)
    throw stateInvalidError(`there is no slice ${name}; there are ${slices.map((known) => known.name).join(", ")}`);
  return { slice, key, inside: inside.reduce(pointerTo, "") };
}

function stateInvalidError(message: string): FaultError {
  return new FaultError(fault("STATE_INVALID", message));
}
