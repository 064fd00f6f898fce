import type { ComponentChildren, VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { isDemoServer, logOut, session } from "../api/browser-login.ts";
import { inboxCount } from "../live/inbox.ts";
import { connection } from "../live/live-stream.ts";
import { ConnectionBanners } from "./connection-banners.tsx";
import { useKeys } from "./key-bindings.ts";
import { isKeyboardHelpOpen, KeyboardHelp } from "./keyboard-help.tsx";
import { type NavGroup, pages } from "./pages.ts";
import { setTheme, type Theme, theme } from "./theme.ts";

const groups: readonly NavGroup[] = ["Decide", "Work", "Rules", "Operate"];

/** The frame of every page: navigation, state of the connection, theme and person. */
export function Layout({ children }: { readonly children: ComponentChildren }): VNode {
  const [isOpen, setOpen] = useState(false);
  const { url } = useLocation();
  useEffect(() => setOpen(false), [url]);
  useKeys([{ key: "?", does: "show the keys of this page", run: () => (isKeyboardHelpOpen.value = true) }]);
  return (
    <div class="layout">
      <a class="skip" href="#main">
        Skip to the page
      </a>
      <div class="side">
        <div class="brand">
          <a href="/">Writ</a>
          <ConnectionMark />
          <button
            type="button"
            class="button button-quiet menu-button"
            aria-expanded={isOpen}
            aria-controls="navigation"
            onClick={() => setOpen(!isOpen)}
          >
            Menu
            {!isOpen && <InboxCount />}
          </button>
        </div>
        <div id="navigation" class={isOpen ? "side-body side-open" : "side-body"}>
          <Navigation />
          <Footer />
        </div>
      </div>
      <main id="main" class="main">
        <ConnectionBanners />
        {children}
      </main>
      <KeyboardHelp />
    </div>
  );
}

function Navigation(): VNode {
  const { path } = useLocation();
  const isCurrent = (own: string) => (own === "/" ? path === "/" || path.startsWith("/gates/") : path.startsWith(own));
  return (
    <nav aria-label="Pages">
      {groups.map((group) => (
        <section key={group} aria-label={group}>
          <h2>{group}</h2>
          <ul>
            {pages
              .filter((page) => page.group === group && (isDemoServer.value || !page.isDemo))
              .map((page) => (
                <li key={page.path}>
                  <a href={page.path} aria-current={isCurrent(page.path) ? "page" : undefined}>
                    {page.title}
                    {page.path === "/" && <InboxCount />}
                  </a>
                </li>
              ))}
          </ul>
        </section>
      ))}
    </nav>
  );
}

/** The number of things that wait for the person. */
function InboxCount(): VNode | null {
  const count = inboxCount();
  if (count === "") return null;
  return (
    <span class="count">
      {count}
      <span class="unseen"> waiting</span>
    </span>
  );
}

function ConnectionMark(): VNode {
  const words = { connecting: "connecting", live: "live", reconnecting: "reconnecting" } as const;
  return (
    <span class={`connection connection-${connection.value}`} role="status">
      {words[connection.value]}
    </span>
  );
}

const themes: readonly { readonly id: Theme; readonly title: string }[] = [
  { id: "system", title: "System" },
  { id: "light", title: "Light" },
  { id: "dark", title: "Dark" },
];

function Footer(): VNode {
  const { value } = session;
  const person = value.is === "in" || value.is === "expired" ? value.principal : null;
  return (
    <div class="side-footer">
      <fieldset class="themes">
        <legend class="unseen">Theme</legend>
        {themes.map(({ id, title }) => (
          <label key={id}>
            <input type="radio" name="theme" checked={theme.value === id} onChange={() => setTheme(id)} />
            <span>{title}</span>
          </label>
        ))}
      </fieldset>
      <button type="button" class="side-action" onClick={() => (isKeyboardHelpOpen.value = true)}>
        Keyboard <kbd>?</kbd>
      </button>
      {person !== null && (
        <p class="person">
          <span title={`tenant ${person.tenant}`}>{person.id}</span>
          <button type="button" class="side-action" onClick={() => void logOut()}>
            Log out
          </button>
        </p>
      )}
    </div>
  );
}
