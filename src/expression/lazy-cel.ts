import type { ExpressionLanguage } from "../core/ports/expression.ts";
import { assert } from "../core/values/assert.ts";

let loaded: ExpressionLanguage | null = null;

/** CEL, loaded when the first condition needs it: its parser takes as long to load as the rest of the engine. */
export const lazyCel: ExpressionLanguage = {
  load: async () => {
    loaded ??= (await import("./cel.ts")).cel;
  },
  read: (source, variables, fields) => {
    assert(loaded !== null, "the language is loaded before a condition is read");
    return loaded.read(source, variables, fields);
  },
};
