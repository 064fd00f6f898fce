import type { VNode } from "preact";
import { session } from "../api/browser-login.ts";
import { LoginForm } from "./login-form.tsx";

/** The page of a browser that is not logged in. */
export function LoginPage(): VNode {
  const { value } = session;
  const problem = value.is === "out" ? value.problem : null;
  return (
    <main class="login">
      <h1>Log in to Writ</h1>
      {problem !== null && (
        <p class="note note-danger" role="alert">
          {problem}
        </p>
      )}
      <p>
        <code>writ serve</code> prints a link when it starts. The link logs one browser in, once, within ten minutes.
      </p>
      <LoginForm />
      <p class="soft">
        No link, or an old one? Start <code>writ serve</code> again: it prints a new one.
      </p>
    </main>
  );
}
