import type { VNode } from "preact";
import { EmptyState } from "../components/empty-state.tsx";
import { PageHeader } from "../components/page-header.tsx";

/** The page of an address that the console does not have. */
export function UnknownPage(): VNode {
  return (
    <>
      <PageHeader title="No such page" />
      <EmptyState title={`The console has no page at ${location.pathname}`}>
        Go to the <a href="/">inbox</a> or to the <a href="/runs">runs</a>. Ids begin with <code>run_</code> or{" "}
        <code>gate_</code>.
      </EmptyState>
    </>
  );
}
