import { useEffect, useState } from "preact/hooks";

export const runViews = ["graph", "waterfall", "story"] as const;

export type RunViewName = (typeof runViews)[number];

/** The place of a reader on the page of a run. The address has it, so that a reload and a link keep it. */
export interface PagePlace {
  readonly view: RunViewName;
  readonly step: string | null;
}

/** Returns the place in the address, and a function that changes it without leaving the page. */
export function usePagePlace(): readonly [PagePlace, (change: Partial<PagePlace>) => void] {
  const [place, setPlace] = useState(() => readPlace(location.search));
  useEffect(() => {
    const follow = () => setPlace(readPlace(location.search));
    addEventListener("popstate", follow);
    return () => removeEventListener("popstate", follow);
  }, []);
  const move = (change: Partial<PagePlace>) => {
    const before = readPlace(location.search);
    const next = { ...before, ...change };
    const url = location.pathname + placeQuery(next);
    // Going back closes a step; the steps and views in between are not worth a way back.
    if (before.step === null && next.step !== null) history.pushState(null, "", url);
    else history.replaceState(null, "", url);
    setPlace(next);
  };
  return [place, move];
}

export function readPlace(search: string): PagePlace {
  const query = new URLSearchParams(search);
  const view = runViews.find((name) => name === query.get("view")) ?? "graph";
  return { view, step: query.get("step") };
}

/** Returns the part of the address after the path. */
export function placeQuery({ view, step }: PagePlace): string {
  const query = new URLSearchParams();
  if (view !== "graph") query.set("view", view);
  if (step !== null) query.set("step", step);
  const text = query.toString();
  return text === "" ? "" : `?${text}`;
}
