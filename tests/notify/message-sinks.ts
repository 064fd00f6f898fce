import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { SMTPServer } from "smtp-server";

export interface ReceivedPost {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A web server that keeps what it receives. `answer` says with which status it answers. */
export async function startWebSink(answer: (post: ReceivedPost) => number | Promise<number> = () => 200) {
  const posts: ReceivedPost[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (part) => {
      body += part;
    });
    request.on("end", async () => {
      const post = { path: request.url ?? "", headers: request.headers, body };
      posts.push(post);
      response.writeHead(await answer(post), { location: "http://127.0.0.1:1/" }).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    posts,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** A mail server that keeps the mails that it receives. */
export async function startMailSink() {
  const mails: string[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS", "AUTH"],
    logger: false,
    onData(stream, _session, answer) {
      let text = "";
      stream.setEncoding("utf8").on("data", (part: string) => {
        text += part;
      });
      stream.on("end", () => {
        mails.push(text);
        answer();
      });
    },
  });
  server.on("error", () => {});
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.server.address() as AddressInfo;
  return { url: `smtp://127.0.0.1:${port}`, mails, close: () => new Promise<void>((resolve) => server.close(resolve)) };
}
