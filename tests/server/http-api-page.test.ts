import { expect, it } from "vitest";
import type { JsonObject } from "../../src/core/values/json.ts";
import { makeRouteTable } from "../../src/server/make-route-table.ts";
import type { ServerRoute } from "../../src/server/server-route.ts";
import { repositoryPath } from "../repo/repository-path.ts";

const intro = `# HTTP API

\`writ serve\` serves these routes; \`GET /v1/openapi.json\` describes them as OpenAPI 3.1
([openapi.json](openapi.json)). Send a credential with every request: \`Authorization: Bearer …\`
([security.md](security.md)). Arguments are in the path, then in the query of a GET or DELETE, and in the JSON body of a
POST or PUT. Unknown arguments are refused. The header \`Idempotency-Key\` makes a submission repeatable: the same key
with the same plan is the same run. A body with a version has it as its \`ETag\`: \`If-None-Match\` answers 304, and
\`If-Match\` replaces that version only (412).

## First requests

In a folder with a config, such as one made by \`writ init\`, \`writ serve\` starts the server. \`writ keys add bot --scope
read --scope submit\` prints the key of an agent, and \`writ keys add bea --kind person --scope read --scope decide\` that
of a person:

\`\`\`sh
SERVER=\${WRIT_SERVER:-http://127.0.0.1:4111}
AGENT="Authorization: Bearer $AGENT_KEY"
PERSON="Authorization: Bearer $PERSON_KEY"
JSON="Content-Type: application/json"

# Submit the plan. The same key with the same plan is the same run, so this request may be repeated.
curl -sS "$SERVER/v1/runs" -H "$AGENT" -H "$JSON" -H "Idempotency-Key: welcome-ana" -d "{\\"plan\\": $(cat plan.json)}" | tee run.json
RUN=$(sed 's/.*"run_id":"\\([^"]*\\)".*/\\1/' run.json)

# Wait until it goes no further by itself: a person has to approve the mail.
curl -sS "$SERVER/v1/runs/$RUN/result" -H "$AGENT"

# Find its gate, and approve it.
curl -sS "$SERVER/v1/gates?run_id=$RUN" -H "$PERSON" | tee gates.json
GATE=$(sed 's/.*"gate_id":"\\([^"]*\\)".*/\\1/' gates.json)
curl -sS "$SERVER/v1/gates/$GATE/approve" -H "$PERSON" -H "$JSON" -d '{"reason": "a known customer"}'

# Wait until it has ended, then read its events after the third one.
curl -sS "$SERVER/v1/runs/$RUN/end" -H "$AGENT"
curl -sS "$SERVER/v1/runs/$RUN/stream?after=3" -H "$AGENT"
\`\`\`

## Refusals

A refusal is a problem document (\`application/problem+json\`) with the fault code of [errors.md](errors.md) in \`code\`,
what happened in \`detail\`, what to do in \`next\`, and \`request_id\`. Status 202 with a problem document means that a
policy holds the request: \`errors\` names its gate. 429 and 503 have \`Retry-After\`: send the same request again.

## Streams

\`GET /v1/runs/{run_id}/stream\` sends server-sent events: \`event\` with the position as its id, \`reset\` if the journal
no longer has the position (forget all events of the run), \`end\` after the last event. A client that reconnects sends
\`Last-Event-ID\`, and misses and repeats nothing. \`GET /v1/stream?runs=a,b&lists=runs\` carries several runs and
\`change\` hints about the list of runs on one connection. A hint says that a row has changed; it has no order and no
content, so read the list again. There is no ordered stream of a whole tenant, because journals have no common order.

## Sessions

\`POST /v1/sessions\` opens a session and returns its \`session_id\`, which contains the opening terms and no secret. An
agent calls tools of the server (\`/calls\`), or runs its own: \`/calls/{id}/begin\` answers with \`go\`, a token and an
idempotency key, and \`POST /v1/calls/end\` reports the output. \`/model\` returns a recorded answer or a token; the agent
asks its model and posts the answer to \`/model/{token}\` of the same server process.

## How it is built

One table of routes (\`src/http-api\`) is the source of validation, the OpenAPI document, this page, the client and the
tests of authorisation. A route calls the verb of the engine with its name, so it adds no rule of its own. The schemas
are generated from the types of the engine (\`scripts/engine-schemas.js\`). The server uses \`hono\`,
\`@hono/node-server\` and \`jose\`: dependencies without scripts and without dependencies of their own, loaded only by
\`writ serve\`, so that it works after one installation. Verbs that name files of the machine (\`backup\`,
\`adoptBackup\`) have no route.

## Routes
`;

function routeRow({ method, path, scope, about, query, body, hasRequestKey }: ServerRoute): string {
  const names = (schema: JsonObject | null) => {
    const { properties = {}, required = [] } = (schema ?? {}) as {
      readonly properties?: object;
      readonly required?: readonly string[];
    };
    return Object.keys(properties).map((name) => (required.includes(name) ? `**${name}**` : name));
  };
  const given = [...names(query), ...names(body), ...(hasRequestKey ? ["Idempotency-Key"] : [])];
  return `| \`${method} ${path}\` | ${scope} | ${about} | ${given.join(", ")} |`;
}

it("docs/http-api.md lists every route of the table", async () => {
  const rows = makeRouteTable().map(routeRow);
  const page = [intro, "| route | scope | what it does | arguments |", "|---|---|---|---|", ...rows, ""].join("\n");
  await expect(page).toMatchFileSnapshot(repositoryPath("docs/http-api.md"));
});
