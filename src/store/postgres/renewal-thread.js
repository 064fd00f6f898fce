// Renews leases from a thread of its own, on a connection of its own, so that a main thread that is busy for a while loses no run.
// It does what it is told, and repeats what it was told last while the main thread lives: once that has not been heard of for
// half a lease, the leases are left to run out, because nobody here would notice that another worker has the runs.
// Plain JavaScript: a thread begins with a file, and this is the same file before and after compiling.
import { createRequire } from "node:module";
import { parentPort, workerData } from "node:worker_threads";

const { Client } = createRequire(import.meta.url)("pg");
const { settings, text, leaseMs, renewMs, pulse } = workerData;
const heard = new BigInt64Array(pulse);

let client = null;
let told = null;
let renewedAt = milliseconds();
let turn = Promise.resolve();

parentPort.on("message", (message) => {
  told = message;
  if (message !== null) turn = turn.then(() => answer(message));
});

setInterval(() => {
  const isDue = milliseconds() - renewedAt >= renewMs;
  const lives = milliseconds() - Number(Atomics.load(heard, 0) / 1_000_000n) <= leaseMs / 2;
  if (told === null || !isDue || !lives) return;
  renewedAt = milliseconds();
  const { values } = told;
  turn = turn.then(() => renew(values)).catch(() => {}); // The main thread asks again, and is told then.
}, renewMs / 10);

async function answer({ id, values }) {
  try {
    parentPort.postMessage({ id, lost: await renew(values) });
  } catch (error) {
    parentPort.postMessage({ id, error: { message: error.message, code: error.code } });
  }
}

/** On a connection that broke unnoticed, once more on another. */
async function renew(values) {
  const isOld = client !== null;
  try {
    return await ask(values);
  } catch (error) {
    if (!isOld || error.severity === "ERROR") throw error;
    return ask(values);
  }
}

async function ask(values) {
  client ??= await connected();
  const asked = milliseconds();
  try {
    const { rows } = await client.query({
      text,
      values: values.map(asParameter),
      rowMode: "array",
      types: { getTypeParser },
    });
    renewedAt = asked;
    return rows[0][0];
  } catch (error) {
    if (error.severity !== "ERROR") forget(client);
    throw error;
  }
}

async function connected() {
  const made = new Client(settings);
  made.on("error", () => forget(made));
  await made.connect();
  return made;
}

function forget(broken) {
  if (client === broken) client = null;
  broken.end().catch(() => {});
}

/** Bytes are sent to Postgres as they are, but come from another thread without their class. */
function asParameter(value) {
  return value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : value;
}

function getTypeParser() {
  return (answer) => answer;
}

/** By the one clock that both threads share and nobody sets. */
function milliseconds() {
  return Number(process.hrtime.bigint() / 1_000_000n);
}
