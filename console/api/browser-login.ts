import { signal } from "@preact/signals";
import type { WhoAmI } from "../../src/client/client.ts";
import { readProblem, toProblem } from "./problem.ts";

/** The login of this browser. `expired`: it was logged in, so that pages keep what was typed. */
export type LoginState =
  | { readonly is: "starting" }
  | ({ readonly is: "in" } & WhoAmI)
  | ({ readonly is: "expired" } & WhoAmI)
  | { readonly is: "out"; readonly problem: string | null };

export const session = signal<LoginState>({ is: "starting" });

/** True: the server has another build of the console than this page. */
export const isPageOutdated = signal(false);

/** True: the demo started the server, so that it has the pages of the demo. */
export const isDemoServer = signal(false);

let csrf: string | null = null;
const tabs = "BroadcastChannel" in window ? new BroadcastChannel("writ-session") : null;

/** Logs in by the link in the fragment, if there is one, and finds out who the browser is. */
export async function startSession(): Promise<void> {
  const link = new URLSearchParams(location.hash.slice(1)).get("link");
  if (link !== null) {
    // The secret leaves the address bar before anything else happens.
    history.replaceState(null, "", location.pathname + location.search);
    if (!(await logIn(link))) return;
  } else await checkSession();
  tabs?.addEventListener("message", () => void checkSession());
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && session.value.is !== "in") void checkSession();
  });
}

/** Exchanges the secret of a link for the cookie of a session. False: it was refused, and the session says why. */
export async function logIn(link: string): Promise<boolean> {
  try {
    const headers = { "content-type": "application/json" };
    const response = await fetch("/v1/login", { method: "POST", headers, body: JSON.stringify({ link }) });
    if (!response.ok) throw await readProblem(response);
    csrf = null;
    await checkSession();
    tabs?.postMessage("logged in");
    return true;
  } catch (error) {
    const { message } = toProblem(error);
    await checkSession();
    if (session.value.is === "out") session.value = { is: "out", problem: message };
    return false;
  }
}

export async function logOut(): Promise<void> {
  await fetch("/v1/logout", { method: "POST" }).catch(() => null);
  csrf = null;
  session.value = { is: "out", problem: null };
  tabs?.postMessage("logged out");
}

/** Asks the server who this browser is. Returns false if the server did not answer. */
export async function checkSession(): Promise<boolean> {
  const response = await fetch("/v1/whoami").catch(() => null);
  if (response === null) return false;
  noteBuild(response);
  if (response.ok) {
    isDemoServer.value = response.headers.has("x-writ-demo");
    const known = (await response.json()) as WhoAmI;
    csrf = null;
    session.value = { is: "in", ...known };
  } else if (response.status === 401) endSession();
  return true;
}

/** Records that the server no longer accepts the cookie. */
export function endSession(): void {
  const { value } = session;
  csrf = null;
  if (value.is === "in") session.value = { ...value, is: "expired" };
  else if (value.is === "starting") session.value = { is: "out", problem: null };
}

/** Returns the token that belongs to the cookie: every request that changes something needs it. */
export async function csrfToken(): Promise<string> {
  if (csrf !== null) return csrf;
  const response = await fetch("/v1/csrf");
  if (!response.ok) {
    if (response.status === 401) endSession();
    throw await readProblem(response);
  }
  ({ csrf } = (await response.json()) as { readonly csrf: string });
  return csrf;
}

/** Compares the build of the page with that of the server that answered. */
export function noteBuild(response: Response): void {
  const served = response.headers.get("x-writ-build");
  const own = document.querySelector<HTMLMetaElement>('meta[name="writ-build"]')?.content;
  if (served !== null && own !== undefined && served !== own) isPageOutdated.value = true;
}

/** Returns whether the person may do what a scope allows. */
export function hasScope(scope: WhoAmI["scopes"][number]): boolean {
  const { value } = session;
  return (value.is === "in" || value.is === "expired") && value.scopes.includes(scope);
}
