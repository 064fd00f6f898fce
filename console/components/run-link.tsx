import type { VNode } from "preact";

/** A link to a run, by the end of its id: its beginning is its time. */
export function RunLink({ run_id }: { readonly run_id: string }): VNode {
  return (
    <a class="mono" href={`/runs/${encodeURIComponent(run_id)}`} title={run_id}>
      …{run_id.slice(-8)}
    </a>
  );
}
