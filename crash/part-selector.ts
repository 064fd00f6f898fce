import type { KillPoint } from "./killer.ts";

/** A selected part, scenario or cell: `part`, `part:name` or `part:name@place`. */
export interface PartSelector {
  readonly part: string;
  readonly name: string | null;
  readonly places: readonly KillPoint[];
}

export const partNames = ["kill", "power", "pair", "replay", "chance", "process", "fault"] as const;

export type PartName = (typeof partNames)[number];

const selectorPattern = /^(\w+)(?::([\w-]+))?(?:@(.+))?$/;
const killPointPattern = /^(.+)#(\d+)(?:!(STORE_FAILED|STORE_UNKNOWN))?$/;

/** Parses `kill:opaque@tool.after#1,recover.before#1`; null: the text is invalid. */
export function parsePartSelector(text: string): PartSelector | null {
  const [, part, name = null, at] = selectorPattern.exec(text) ?? [];
  if (part === undefined || !(partNames as readonly string[]).includes(part)) return null;
  const places = at === undefined ? [] : at.split(",").map(parseKillPoint);
  return places.includes(null) ? null : { part, name, places: places as readonly KillPoint[] };
}

function parseKillPoint(text: string): KillPoint | null {
  const [, point, nth, fault] = killPointPattern.exec(text) ?? [];
  if (point === undefined) return null;
  return { point, nth: Number(nth), ...(fault !== undefined && { fault: fault as NonNullable<KillPoint["fault"]> }) };
}
