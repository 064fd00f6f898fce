import type { VNode } from "preact";
import { isPageOutdated, session } from "../api/browser-login.ts";
import { Dialog } from "../components/dialog.tsx";
import { connection } from "../live/live-stream.ts";
import { LoginForm } from "./login-form.tsx";

/** Says that the connection is lost, that the server has another build, or that the session has ended. */
export function ConnectionBanners(): VNode {
  return (
    <div class="notices" aria-live="polite">
      {isPageOutdated.value && (
        <p class="notice">
          The server has another version of this console.{" "}
          <button type="button" class="button button-quiet" onClick={() => location.reload()}>
            Load it
          </button>
        </p>
      )}
      {connection.value === "reconnecting" && (
        <p class="notice notice-hold">Reconnecting … The server does not answer. What you see may be old.</p>
      )}
      <SessionExpired />
    </div>
  );
}

/** Asks for a new login over the page, which keeps everything that was typed. */
function SessionExpired(): VNode | null {
  const { value } = session;
  if (value.is !== "expired") return null;
  return (
    <Dialog title="Your session has ended" onClose={() => {}}>
      <p>
        Log in again as {value.principal.id}, here or in another tab. The page keeps what you typed. The last request
        was not carried out.
      </p>
      <LoginForm />
    </Dialog>
  );
}
