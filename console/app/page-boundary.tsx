import type { ComponentChildren, VNode } from "preact";
import { useState } from "preact/hooks";
import { ErrorBoundary } from "preact-iso";
import { isPageOutdated } from "../api/browser-login.ts";

/** Shows what to do when the code of a page cannot be loaded or fails. */
export function PageBoundary({ children }: { readonly children: ComponentChildren }): VNode {
  const [failed, setFailed] = useState<Error | null>(null);
  if (failed !== null)
    return (
      <div class="note note-danger" role="alert">
        <p>{isPageOutdated.value ? "The server has a newer console." : "This page failed."}</p>
        <p class="soft">{failed.message}</p>
        <button type="button" class="button" onClick={() => location.reload()}>
          Load it again
        </button>
      </div>
    );
  return <ErrorBoundary onError={setFailed}>{children}</ErrorBoundary>;
}
