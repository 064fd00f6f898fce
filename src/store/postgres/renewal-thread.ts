/**
 * The program of a separate thread that renews leases with its own connection, so that a worker with a blocked main
 * thread loses no run. It renews when the main thread sends a request, and repeats the latest request while the main
 * thread is alive. If the main thread has shown no pulse for half a lease, the leases expire: it would not notice that
 * another worker has taken the runs. The program is text, because a bundle of the package has no file to start it from.
 */
export const renewalThread = `
"use strict";
const { parentPort, workerData } = require("node:worker_threads");
const { driver, settings, text, leaseMs, pulse } = workerData;
const renewMs = leaseMs / 3;
const { Client } = require(driver);
const lastPulse = new BigInt64Array(pulse);

let client = null;
let latest = null;
let renewedAt = milliseconds();
let queue = Promise.resolve();

parentPort.on("message", (message) => {
  latest = message;
  if (message !== null) queue = queue.then(() => answer(message));
});

setInterval(() => {
  const isDue = milliseconds() - renewedAt >= renewMs;
  const isMainAlive = milliseconds() - Number(Atomics.load(lastPulse, 0) / 1_000_000n) <= leaseMs / 2;
  if (latest === null || !isDue || !isMainAlive) return;
  renewedAt = milliseconds();
  const { values } = latest;
  queue = queue.then(() => renew(values)).catch(() => {}); // The next request of the main thread reports the error.
}, renewMs / 10);

async function answer({ id, values }) {
  try {
    parentPort.postMessage({ id, lost: await renew(values) });
  } catch (error) {
    parentPort.postMessage({ id, error: { message: error.message, code: error.code } });
  }
}

/** Renews, and tries once more on a new connection if the old one had broken unnoticed. */
async function renew(values) {
  const isOld = client !== null;
  try {
    return await sendRenewal(values);
  } catch (error) {
    if (!isOld || error.severity === "ERROR") throw error;
    return sendRenewal(values);
  }
}

async function sendRenewal(values) {
  client ??= await connect();
  const sentAt = milliseconds();
  try {
    const { rows } = await client.query({
      text,
      values: values.map(toParameter),
      rowMode: "array",
      types: { getTypeParser },
    });
    renewedAt = sentAt;
    return rows[0][0];
  } catch (error) {
    if (error.severity !== "ERROR") discard(client);
    throw error;
  }
}

async function connect() {
  const made = new Client(settings);
  made.on("error", () => discard(made));
  await made.connect();
  return made;
}

function discard(broken) {
  if (client === broken) client = null;
  broken.end().catch(() => {});
}

/** Makes a Buffer of bytes: a Buffer that is posted to another thread arrives as a Uint8Array. */
function toParameter(value) {
  return value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : value;
}

function getTypeParser() {
  return (answer) => answer;
}

/** Reads the monotonic clock, which both threads share. */
function milliseconds() {
  return Number(process.hrtime.bigint() / 1_000_000n);
}
`;
