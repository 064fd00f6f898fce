import { isWellFormed } from "../../core/json/well-formed-text.ts";
import { requestLimits } from "./request-limits.ts";

/** The title and the labels of a run, as options. */
interface RunLabels {
  readonly title?: string;
  readonly labels?: readonly string[];
}

/** Returns what is wrong with the title and the labels of a run. */
export function labelProblems({ title, labels }: RunLabels): readonly string[] {
  const problems: string[] = [];
  if (title !== undefined && !isText(title, requestLimits.title))
    problems.push(`title must be a text of 1 to ${requestLimits.title} characters`);
  const isList = Array.isArray(labels) && labels.length <= requestLimits.labels;
  if (labels !== undefined && !(isList && Array.from(labels).every((label) => isText(label, requestLimits.label))))
    problems.push(
      `labels must be at most ${requestLimits.labels} texts of 1 to ${requestLimits.label} characters each`,
    );
  return problems;
}

function isText(given: unknown, most: number): boolean {
  return (
    typeof given === "string" && given !== "" && given.length <= most && isWellFormed(given) && !given.includes("\0")
  );
}

/** Returns the title and the labels as fields of an acceptance, each label once. */
export function labelFields({ title, labels = [] }: RunLabels): RunLabels {
  return { ...(title !== undefined && { title }), ...(labels.length > 0 && { labels: [...new Set(labels)] }) };
}
