import type { VNode } from "preact";
import type { UrlQuery } from "../../app/url-query.ts";
import { activeFilters, textFilters, waitingForTitles } from "./run-filters.ts";

/** The fields of all filters except the status. A change takes effect when the field is left, or with Enter. */
export function FilterPanel({ query, change }: UrlQuery): VNode {
  const set = (name: string) => (event: { readonly currentTarget: { readonly value: string } }) =>
    change({ [name]: event.currentTarget.value.trim() });
  return (
    <search class="filter-panel" aria-label="Filters of runs">
      {textFilters.map(({ name, title }) => (
        <label key={name} class="field">
          {title}
          <input type="text" name={name} value={query[name] ?? ""} onChange={set(name)} />
        </label>
      ))}
      <label class="field">
        Waiting for
        <select name="waiting_for" value={query.waiting_for ?? ""} onChange={set("waiting_for")}>
          <option value="">anything</option>
          {Object.entries(waitingForTitles).map(([value, title]) => (
            <option key={value} value={value}>
              {title}
            </option>
          ))}
        </select>
      </label>
      <label class="field">
        From
        <input type="datetime-local" name="from" value={query.from ?? ""} onChange={set("from")} />
      </label>
      <label class="field">
        Until
        <input type="datetime-local" name="to" value={query.to ?? ""} onChange={set("to")} />
      </label>
      <label class="filter-check">
        <input
          type="checkbox"
          name="decidable"
          checked={query.decidable === "1"}
          onChange={({ currentTarget }) => change({ decidable: currentTarget.checked ? "1" : null })}
        />
        Only runs that I can decide
      </label>
    </search>
  );
}

/** The filters that are set, each with a button that removes it. */
export function FilterChips({ query, change }: UrlQuery): VNode | null {
  const active = activeFilters(query);
  if (active.length === 0) return null;
  const none = Object.fromEntries(active.map(({ name }) => [name, null]));
  return (
    <div class="filter-chips">
      {active.map(({ name, text }) => (
        <button key={name} type="button" class="chip" onClick={() => change({ [name]: null })}>
          <bdi>{text}</bdi> <span aria-hidden="true">×</span>
          <span class="unseen">remove</span>
        </button>
      ))}
      {active.length > 1 && (
        <button type="button" class="side-action" onClick={() => change(none)}>
          Remove all
        </button>
      )}
    </div>
  );
}
