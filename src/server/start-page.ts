/** The page behind the link of the first start: it exchanges the link for a cookie, and says who is logged in. */
export const startPage = `<!doctype html>
<html lang="en">
  <meta charset="utf-8" />
  <meta name="viewport" content="width=device-width" />
  <title>Writ</title>
  <main>
    <h1>Writ</h1>
    <p id="state" role="status">Logging in …</p>
    <p><a href="/v1/openapi.json">The HTTP API</a></p>
  </main>
  <script type="module" src="/start.js"></script>
</html>
`;

/** The secret of the link is in the fragment, which is not sent, and leaves the address bar at once. */
export const startScript = `const state = document.getElementById("state");
const link = new URLSearchParams(location.hash.slice(1)).get("link");
history.replaceState(null, "", "/");
if (link !== null)
  await fetch("/v1/login", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ link }),
  });
const answer = await fetch("/v1/whoami");
const { principal } = answer.ok ? await answer.json() : {};
state.textContent = answer.ok
  ? "You are logged in as " + principal.id + " of tenant " + principal.tenant + "."
  : "You are not logged in. The link was used or has expired; start writ serve again for a new one.";
`;
