/**
 * The page of the server until the console is there: it exchanges the link of the first start for a cookie, lists what
 * waits for a person, and shows and decides one gate or shows one run.
 */
export const startPage = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <title>Writ</title>
    <link rel="stylesheet" href="/start.css" />
    <link rel="icon" href="data:," />
    <script type="module" src="/start.js"></script>
  </head>
  <body>
    <header>
      <a class="name" href="/">Writ</a>
      <p id="who" role="status">Logging in …</p>
    </header>
    <main id="main"></main>
    <footer><a href="/v1/openapi.json">HTTP API</a></footer>
  </body>
</html>
`;

/** The style of the page: tokens for both themes, and one column that fits a phone. */
export const startStyle = `:root {
  color-scheme: light dark;
  --ground: #fbfbfa; --panel: #ffffff; --line: #dcdcd8; --ink: #1d1e20; --soft: #5b5e63;
  --accent: #1f5fbf; --accent-ink: #ffffff; --danger: #a8321f; --hold: #8a5a00;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #15171a; --panel: #1d2024; --line: #33373d; --ink: #e9eaec; --soft: #a4a9b0;
    --accent: #7fb0ff; --accent-ink: #0d1a2e; --danger: #ff9a86; --hold: #f0c060;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
header, main, footer { max-width: 60rem; margin: 0 auto; padding: 1rem 1.25rem; }
header { display: flex; flex-wrap: wrap; gap: .25rem 1rem; align-items: baseline; justify-content: space-between; border-bottom: 1px solid var(--line); }
header p { margin: 0; color: var(--soft); }
.name { font-size: 1.25rem; font-weight: 650; color: var(--ink); text-decoration: none; }
a { color: var(--accent); }
h1 { font-size: 1.35rem; margin: 1rem 0 .5rem; overflow-wrap: anywhere; }
h2 { font-size: 1rem; margin: 1.75rem 0 .5rem; color: var(--soft); font-weight: 600; }
ul { list-style: none; margin: 0; padding: 0; border: 1px solid var(--line); border-radius: 8px; background: var(--panel); }
li { padding: .65rem .9rem; display: flex; flex-wrap: wrap; gap: .1rem .75rem; align-items: baseline; }
li + li { border-top: 1px solid var(--line); }
li a { font-weight: 600; overflow-wrap: anywhere; }
.soft { color: var(--soft); overflow-wrap: anywhere; }
.empty { color: var(--soft); border: 1px dashed var(--line); border-radius: 8px; padding: .9rem; margin: 0; }
.state { font-size: .85rem; padding: 0 .5rem; border: 1px solid currentColor; border-radius: 999px; color: var(--soft); }
.state.waiting { color: var(--hold); }
.state.failed, .state.rejected { color: var(--danger); }
pre { margin: .5rem 0; padding: .9rem; background: var(--panel); border: 1px solid var(--line); border-radius: 8px; overflow: auto; max-height: 24rem; font: 13px/1.45 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
form { display: flex; flex-wrap: wrap; gap: .6rem; margin: 1rem 0; }
label { flex: 1 1 100%; color: var(--soft); }
input { width: 100%; margin-top: .25rem; padding: .55rem .7rem; font: inherit; color: var(--ink); background: var(--panel); border: 1px solid var(--soft); border-radius: 6px; }
button { padding: .55rem 1.1rem; font: inherit; font-weight: 600; border-radius: 6px; border: 1px solid var(--accent); background: var(--accent); color: var(--accent-ink); cursor: pointer; }
button.danger { background: transparent; border-color: var(--danger); color: var(--danger); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
footer { color: var(--soft); border-top: 1px solid var(--line); margin-top: 2rem; }
@media (max-width: 30rem) { header, main, footer { padding-inline: 1rem; } button { flex: 1; } }
`;
