import { signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";

const key = "writ-theme";

export const theme = signal<Theme>(storedTheme());

/** Puts the chosen theme on the page. `system`: that of the browser. */
export function applyTheme(): void {
  const { dataset } = document.documentElement;
  if (theme.value === "system") delete dataset.theme;
  else dataset.theme = theme.value;
}

export function setTheme(chosen: Theme): void {
  theme.value = chosen;
  applyTheme();
  try {
    localStorage.setItem(key, chosen);
  } catch {
    // The browser keeps nothing for this site: the theme lasts as long as the page.
  }
}

function storedTheme(): Theme {
  try {
    const stored = localStorage.getItem(key);
    return stored === "light" || stored === "dark" ? stored : "system";
  } catch {
    return "system";
  }
}
