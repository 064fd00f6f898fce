import type { DoubtView, UnreadableDoubt } from "../../src/engine/api/list-api.ts";

/** An act in doubt, with its call if its journal can be read. */
export type ListedDoubt = DoubtView | UnreadableDoubt;
