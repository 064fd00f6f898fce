import type { Store } from "../src/core/store.ts";
import { leftoversIn } from "./leftovers.ts";
import { drive, look, type Stand } from "./program.ts";
import type { Report } from "./task.ts";
import { deedsIn } from "./witness.ts";

/** What the last process of a case does, and where it finds its store for one more start. */
export interface Setting extends Stand {
  readonly file: string;
  open(): Store;
}

/** Somebody looks, the program runs to its rest, and then once more, as if someone had started it again for no reason. */
export async function prove(setting: Setting): Promise<Omit<Report, "passed">> {
  await look(setting.store);
  const rest = await drive(setting);
  const deeds = deedsIn(setting.world).length;
  const again = await drive({ ...setting, store: setting.open() });
  return { rest, again, deeds, leftovers: leftoversIn(setting.file) };
}
