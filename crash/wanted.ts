import type { Kill } from "./killer.ts";

/** What of the proof is asked for: `part`, `part:name` or `part:name@place`. */
export interface Wanted {
  readonly part: string;
  readonly name: string | null;
  readonly places: readonly Kill[];
}

export const partNames = ["kill", "power", "replay", "chance", "process", "fault"] as const;

export type PartName = (typeof partNames)[number];

const shape = /^(\w+)(?::([\w-]+))?(?:@(.+))?$/;
const placeShape = /^(.+)#(\d+)(?:!(STORE_FAILED|STORE_UNKNOWN))?$/;

/** Reads `kill:opaque@tool.after#1,recover.before#1`. Null: it does not read. */
export function readWanted(text: string): Wanted | null {
  const [, part, name = null, at] = shape.exec(text) ?? [];
  if (part === undefined || !(partNames as readonly string[]).includes(part)) return null;
  const places = at === undefined ? [] : at.split(",").map(readPlace);
  return places.includes(null) ? null : { part, name, places: places as readonly Kill[] };
}

function readPlace(text: string): Kill | null {
  const [, point, nth, fault] = placeShape.exec(text) ?? [];
  if (point === undefined) return null;
  return { point, nth: Number(nth), ...(fault !== undefined && { fault: fault as NonNullable<Kill["fault"]> }) };
}
