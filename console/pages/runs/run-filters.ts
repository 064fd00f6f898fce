import type { RunListOptions } from "../../../src/engine/api/list-api.ts";

/** The filters of the list as the address has them. */
export type RunFilters = Readonly<Record<string, string>>;

/** The filters that are a text, with their names on the page. */
export const textFilters = [
  { name: "project", title: "Project" },
  { name: "session", title: "Session" },
  { name: "agent", title: "Agent" },
  { name: "tool", title: "Tool" },
  { name: "label", title: "Label" },
  { name: "by", title: "Started by" },
  { name: "parent", title: "Child of run" },
] as const;

export const waitingForTitles = {
  approval: "an approval",
  resolution: "an act in doubt",
  release: "a release",
  signal: "a signal",
  run: "a child run",
  time: "a time",
  retry: "a retry",
  rate: "a rate",
  key: "an equal act",
  tool: "a tool",
  halt: "the end of a halt",
  undo: "an undo",
} as const;

const filterTitles: Readonly<Record<string, string>> = {
  status: "Status",
  waiting_for: "Waiting for",
  decidable: "I can decide",
  from: "From",
  to: "Until",
  ...Object.fromEntries(textFilters.map(({ name, title }) => [name, title])),
};

/** Returns the filters that are set, in the order of the page. */
export function activeFilters(query: RunFilters): readonly { readonly name: string; readonly text: string }[] {
  return Object.entries(filterTitles).flatMap(([name, title]) => {
    const value = query[name];
    if (value === undefined || value === "" || name === "status") return [];
    return [{ name, text: name === "decidable" ? title : `${title}: ${value.replace("T", " ")}` }];
  });
}

/** Returns the options of the request for these filters. A time that cannot be read is left out. */
export function runListOptions(query: RunFilters): Omit<RunListOptions, "principal"> {
  const { status, waiting_for, decidable, from, to } = query;
  const texts = textFilters.flatMap(({ name }) => (query[name] ? [[name, query[name]]] : []));
  const times = Object.entries({ from, to }).flatMap(([name, text]) => {
    const at = Date.parse(text ?? "");
    return Number.isNaN(at) ? [] : [[name, at]];
  });
  return {
    ...Object.fromEntries([...texts, ...times]),
    ...(status && { status }),
    ...(waiting_for && { waitingFor: waiting_for as NonNullable<RunListOptions["waitingFor"]> }),
    ...(decidable && { decidable: true }),
  };
}
