import type { Mode } from "../../../src/core/values/effect.ts";
import type { Json } from "../../../src/core/values/json.ts";

/** The terms of a request besides its plan. An empty text is not sent. */
export interface RunTerms {
  readonly project: string;
  readonly title: string;
  readonly labels: string;
  readonly mode: Mode | "";
}

export const noTerms: RunTerms = { project: "", title: "", labels: "", mode: "" };

/** Returns the plan of one call. */
export function callPlan(tool: string, input: Json): Json {
  return { steps: [{ step_id: "call", name: tool, payload: input }] };
}

/** Returns the options of a request for these terms. */
export function termOptions({ project, title, labels, mode }: RunTerms) {
  const named = labels.split(",").flatMap((label) => (label.trim() === "" ? [] : [label.trim()]));
  return {
    ...(project.trim() !== "" && { project: project.trim() }),
    ...(title.trim() !== "" && { title: title.trim() }),
    ...(named.length > 0 && { labels: named }),
    ...(mode !== "" && { mode }),
  };
}
