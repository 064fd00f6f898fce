import { hash } from "node:crypto";
import type { Digest, Tenant } from "../../core/id.ts";
import type { StatePoint } from "../../core/rows.ts";
import { bundleText, type Kept, type Told, wholeText } from "../../core/state/kept.ts";
import type { ProjectState } from "../../core/state/project-state.ts";
import type { Store } from "../../core/store.ts";

/** Versions that are to be kept in one piece, oldest first, and the state that they led to. */
export interface Keepsake {
  readonly upon: StatePoint | null;
  readonly told: readonly Told[];
  readonly state: ProjectState;
  /** What was kept last; null: nothing was. */
  readonly last: Kept | null;
}

/** Keeps versions in one piece. All of the state goes with them once the changes since it last did weigh as much as it did then. */
export async function keep(store: Store, tenant: Tenant, { upon, told, state, last }: Keepsake): Promise<Kept> {
  const newest = told.at(-1) as Told;
  const { version } = newest;
  const put = async (text: string): Promise<{ readonly name: Digest; readonly bytes: number }> => {
    const bytes = Buffer.from(text);
    const name = keptName(text);
    await store.putBlob(tenant, name, bytes);
    return { name, bytes: bytes.length };
  };
  const { name: changes, bytes } = await put(bundleText({ upon, told }));
  const left = (last?.until_whole ?? 0) - bytes;
  if (left > 0) return { version, changes, until_whole: left };
  const whole = await put(wholeText(state, newest));
  return { version, changes, whole: whole.name, until_whole: whole.bytes };
}

/** By content: what is found under its name is what was kept. */
export function keptName(text: string): Digest {
  return hash("sha256", `\u0002writ/kept/v1${text}`) as Digest;
}
