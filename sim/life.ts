import type { Engine } from "../src/engine/api.ts";
import { createEngine } from "../src/engine/engine.ts";
import { SNAPSHOT_VERSIONS, slices } from "./desk.ts";
import { faultyStore } from "./faulty-store.ts";
import { toolsFor } from "./handlers.ts";
import type { Scene } from "./scene.ts";

type Kind = Pick<Life, "works" | "missing">;

/** One process with an engine in it, from its start to its death. */
export class Life {
  readonly number: number;
  readonly works: boolean;
  /** A tool that its version of the program does not have. */
  readonly missing: string | null;
  alive = true;
  /** It was asked to. */
  stopping = false;
  engine: Engine | null = null;
  readonly #scene: Scene;
  readonly #hints = new Set<() => void>();
  readonly #died: (life: Life) => void;

  constructor(scene: Scene, number: number, { works, missing }: Kind, died: (life: Life) => void) {
    this.#scene = scene;
    this.number = number;
    this.works = works;
    this.missing = missing;
    this.#died = died;
    void this.#begin();
  }

  async #begin(): Promise<void> {
    const { agenda, rng, swarm, newId } = this.#scene;
    try {
      this.engine = await createEngine({
        store: faultyStore(this.#scene, this),
        tools: toolsFor(this.#scene, this),
        work: this.works,
        ...this.#scene.limits,
        ...(this.#scene.rules !== null && { policies: this.#scene.rules.policies }),
        ...(swarm.desk && { slices }),
        tenants: Object.fromEntries(swarm.tenants.map(({ name, mode, trust }) => [name, { mode, trust }])),
        limits: {
          gateMs: swarm.gateMs,
          useWithinMs: swarm.useWithinMs,
          concurrency: swarm.concurrency,
          ...(swarm.desk && { snapshotVersions: SNAPSHOT_VERSIONS }),
        },
        stopwatch: () => agenda.now(),
        timers: { after: (ms, work) => (this.alive ? agenda.after(ms, work, this.number) : () => {}) },
        dice: () => rng.float(),
        newId: (prefix) => newId(prefix),
        failpoint: () => this.#falter(),
        onNotice: (notice) =>
          this.#tell(notice.notice_id, `${notice.run_id} ${notice.topic} ${JSON.stringify(notice.payload)}`),
      });
    } catch {
      this.die("before it could begin");
    }
  }

  /** Between two of its own steps it dies, or stands still: often for longer than its lease lasts. */
  #falter(): void {
    const { agenda, counts, rates, rng } = this.#scene;
    if (!this.alive) return;
    if (rng.chance(rates.killedInside)) {
      this.die("between two of its steps");
    } else if (rng.chance(rates.faints)) {
      counts.sleeps += 1;
      agenda.sleep(this.number, agenda.now() + rng.between(1000, 14_000));
    }
  }

  /** A message goes out; it may arrive and not be acknowledged. */
  #tell(id: string, message: string): Promise<void> {
    const { agenda, rng, world } = this.#scene;
    return new Promise((resolve, reject) => {
      if (!this.alive) return;
      const happen = () => {
        const { rates } = this.#scene;
        if (rng.chance(rates.failed)) {
          reject(new Error("nobody there"));
          return "failed";
        }
        world.hear(id, message);
        if (rng.chance(rates.killed)) this.die("after it had told");
        else if (rng.chance(rates.lost)) reject(new Error("no answer"));
        else resolve();
        return "told";
      };
      agenda.add({ name: "notice", owner: this.number, about: id, happen });
    });
  }

  watch(hint: () => void): () => void {
    this.#hints.add(hint);
    return () => void this.#hints.delete(hint);
  }

  /** Someone else has written; this process may hear of it. */
  hint(): void {
    const { agenda } = this.#scene;
    for (const hint of this.#hints) {
      const happen = () => {
        hint();
        return "hinted";
      };
      agenda.add({ name: "hint", owner: this.number, about: "", happen });
    }
  }

  /** From now on it hears nothing, and nothing it says arrives; what it had sent may still be on its way. */
  die(_why: string): void {
    if (!this.alive) return;
    this.alive = false;
    this.engine = null;
    const { agenda, counts, rng, rates, record, world } = this.#scene;
    counts.kills += 1;
    for (const { name, about, posthumous } of agenda.bury(this.number)) {
      if (posthumous === undefined || !rng.chance(rates.posthumous)) continue;
      const happen = () => {
        posthumous();
        counts.posthumous += 1;
        return "posthumously";
      };
      agenda.addAt(agenda.now() + rng.below(40_000), { name, owner: 0, about, happen });
    }
    world.bereave(this.number);
    record.bereave(this.number);
    this.#died(this);
  }
}
