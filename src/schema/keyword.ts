import type { Json, JsonObject } from "../core/json/json.ts";
import type { Judge } from "./trial.ts";

/** What a word of a schema becomes; null: nothing. `siblings`: the schema it stands in. Throws where it is not what it has to be. */
export type Keyword = (said: Json, siblings: JsonObject, reader: Reading) => Judge | null;

/** Whoever reads the schemas that a word leads to. */
export interface Reading {
  read(schema: Json | undefined): Judge;
  /** What a reference leads to. */
  refer(reference: Json): Judge;
}
