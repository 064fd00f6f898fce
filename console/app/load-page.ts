import type { FunctionComponent } from "preact";
import { checkSession } from "../api/browser-login.ts";

const pauseMs = 1000;
const reloadedKey = "writ-reloaded";

/**
 * Loads the code of a page. If that fails, the server is down, or it has another build: then the whole console is loaded
 * again at this address when the server answers, once.
 */
export async function loadPage(load: () => Promise<FunctionComponent>): Promise<FunctionComponent> {
  try {
    const page = await load();
    sessionStorage.removeItem(reloadedKey);
    return page;
  } catch (error) {
    if (sessionStorage.getItem(reloadedKey) === location.href) throw error;
    while (!(await checkSession())) await new Promise((resolve) => setTimeout(resolve, pauseMs));
    sessionStorage.setItem(reloadedKey, location.href);
    location.reload();
    return new Promise(() => {});
  }
}
