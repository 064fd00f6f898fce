import { useLocation } from "preact-iso";

/** The query of the address, and how a page changes it. */
export interface UrlQuery {
  readonly query: Readonly<Record<string, string>>;
  /** Changes some names; null or an empty text removes one. `push`: the back button returns to the query of now. */
  change(fields: Readonly<Record<string, string | null>>, how?: "push" | "replace"): void;
}

/** Keeps the filters and the selection of a page in its address, so that every view has a link. */
export function useUrlQuery(): UrlQuery {
  const { path, query, route } = useLocation();
  return {
    query,
    change: (fields, how = "replace") => route(addressOf(path, { ...query, ...fields }), how === "replace"),
  };
}

/** Returns an address with a query. Names without a value are left out. */
export function addressOf(path: string, fields: Readonly<Record<string, string | null>>): string {
  const named = Object.entries(fields).flatMap(([name, value]): [string, string][] => (value ? [[name, value]] : []));
  const text = new URLSearchParams(named).toString();
  return text === "" ? path : `${path}?${text}`;
}
