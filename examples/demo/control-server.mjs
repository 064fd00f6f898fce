import { timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

/**
 * The address at which the server of the demo asks its supervisor: GET shows the state, POST with the name of an action
 * does it. Only requests with the secret are answered.
 */
export async function startControlServer(secret, { state, actions }) {
  const expected = Buffer.from(`Bearer ${secret}`);
  const server = createServer(async (request, response) => {
    const given = Buffer.from(request.headers.authorization ?? "");
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return end(response, 401, "no secret");
    const name = request.url.slice(1);
    if (request.method === "GET" && name === "") return end(response, 200, state());
    if (request.method !== "POST" || !Object.hasOwn(actions, name)) return end(response, 404, "no such action");
    try {
      end(response, 200, (await actions[name]()) ?? {});
    } catch (error) {
      end(response, 409, error.message);
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}

function end(response, status, body) {
  response.statusCode = status;
  if (typeof body === "string") response.end(body);
  else response.setHeader("content-type", "application/json").end(JSON.stringify(body));
}
