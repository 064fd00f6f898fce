import type { VNode } from "preact";
import { useEffect } from "preact/hooks";
import { LocationProvider, lazy, Route, Router } from "preact-iso";
import { isDemoServer, session } from "../api/browser-login.ts";
import { startInbox } from "../live/inbox.ts";
import { startLiveStream } from "../live/live-stream.ts";
import { Layout } from "./layout.tsx";
import { loadPage } from "./load-page.ts";
import { LoginPage } from "./login-page.tsx";
import { PageBoundary } from "./page-boundary.tsx";
import { pages } from "./pages.ts";
import { UnknownPage } from "./unknown-page.tsx";

const routes = pages.map(({ path, isDemo = false, load }) => ({ path, isDemo, component: lazy(() => loadPage(load)) }));

/** The whole console: the login, or the page of the address inside the layout. */
export function App(): VNode {
  useEffect(startLiveStream, []);
  useEffect(startInbox, []);
  const { is } = session.value;
  if (is === "starting") return <main class="starting" aria-busy="true" />;
  if (is === "out") return <LoginPage />;
  return (
    <LocationProvider>
      <Layout>
        <PageBoundary>
          <Router onRouteChange={focusPage}>
            {routes
              .filter(({ isDemo }) => isDemoServer.value || !isDemo)
              .map(({ path, component }) => (
                <Route key={path} path={path} component={component} />
              ))}
            <Route default component={UnknownPage} />
          </Router>
        </PageBoundary>
      </Layout>
    </LocationProvider>
  );
}

/** After a change of page, the keyboard and screen readers continue at its heading. */
function focusPage(): void {
  requestAnimationFrame(() => document.querySelector<HTMLElement>("main h1")?.focus());
}
