// Writes the screenshots of the README to docs/images: an approval in the inbox of the demo, light and dark. Needs a build
// (npm run build) and Chromium; WRIT_CHROMIUM names another than /usr/bin/chromium.
import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const root = fileURLToPath(new URL("..", import.meta.url));
const images = join(root, "docs", "images");
mkdirSync(images, { recursive: true });

const program = join(root, "examples", "demo", "main.mjs");
const demo = spawn(process.execPath, [program, "--console", "--port", "0"], { stdio: ["ignore", "pipe", "inherit"] });
const link = await new Promise((resolve) => {
  let output = "";
  demo.stdout.setEncoding("utf8").on("data", (chunk) => {
    output += chunk;
    const found = /http:\S+\/demo#link=\S+/.exec(output);
    if (found !== null) resolve(found[0]);
  });
});
const browser = await chromium.launch({
  executablePath: process.env.WRIT_CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"],
});
const page = await browser.newPage({ viewport: { width: 1180, height: 760 }, locale: "en-GB" });
await page.goto(link);
const card = (title) => page.locator(".demo-card").filter({ has: page.getByRole("heading", { name: title }) });
await card("An agent asks for a refund").getByRole("button").click();
await card("An agent asks for a refund").getByText("waits for your decision").waitFor();
await writeShots("demo");
await card("An agent edits files").getByRole("button").click();
await card("An agent edits files").getByRole("link", { name: "Look at the call" }).click();
await page.getByRole("button", { name: "Approve" }).waitFor();
await writeShots("approval");
await browser.close();
demo.kill("SIGINT");

async function writeShots(name) {
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    await page.screenshot({ path: join(images, `${name}-${colorScheme}.png`), animations: "disabled" });
  }
}
