import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { logIn } from "../api/browser-login.ts";

/** Logs in with a link of the server, without leaving the page. */
export function LoginForm({ onLoggedIn }: { readonly onLoggedIn?: () => void }): VNode {
  const [text, setText] = useState("");
  const [problem, setProblem] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const send = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    const isIn = await logIn(/#link=([\w-]+)/.exec(text)?.[1] ?? text.trim());
    setBusy(false);
    setProblem(isIn ? null : "The server did not accept it. A link can be used once, within ten minutes.");
    if (isIn) onLoggedIn?.();
  };
  return (
    <form class="form" onSubmit={(event) => void send(event)}>
      <label>
        Link
        <input
          type="password"
          autocomplete="off"
          required
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
      </label>
      {problem !== null && (
        <p class="field-problem" role="alert">
          {problem}
        </p>
      )}
      <button type="submit" class="button" disabled={isBusy}>
        Log in
      </button>
    </form>
  );
}
