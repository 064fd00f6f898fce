import type { Engine } from "../src/engine/api.ts";
import { Life } from "./life.ts";
import type { Scene } from "./scene.ts";

/** The processes of a simulation: workers that die and come back, and one that only takes commands. */
export class Company {
  readonly #scene: Scene;
  readonly #lives: Life[] = [];
  #born = 0;
  #closing = false;

  constructor(scene: Scene) {
    this.#scene = scene;
    for (let count = 0; count < scene.swarm.workers; count += 1) this.#begin(true);
    this.#begin(false);
    scene.record.witness(({ event }) => {
      const told = this.#lives.length > 0 && event.type !== "step.succeeded" && scene.rng.chance(scene.swarm.hints);
      if (told) scene.rng.pick(this.#lives).hint();
    });
  }

  #begin(works: boolean): void {
    this.#born += 1;
    this.#lives.push(new Life(this.#scene, this.#born, works, (life) => this.#mourn(life)));
  }

  #mourn(life: Life): void {
    this.#lives.splice(this.#lives.indexOf(life), 1);
    const { agenda, rng, swarm } = this.#scene;
    const happen = () => {
      this.#begin(life.works);
      return "started";
    };
    const pause = this.#closing ? 1 : rng.below(swarm.restartMs);
    agenda.addAt(agenda.now() + pause, { name: "start", owner: 0, about: "", happen });
  }

  /** Any engine that answers. */
  door(): Engine | null {
    const open = this.#lives.flatMap(({ engine }) => engine ?? []);
    return open.length === 0 ? null : this.#scene.rng.pick(open);
  }

  /** A machine restarts: everyone on it dies, and markers that were not synced may be gone. */
  reboot(): void {
    const scene = this.#scene;
    scene.counts.reboots += 1;
    scene.boot = scene.newId("boot");
    for (const [path] of scene.tables.markers.sorted()) if (scene.rng.chance(0.5)) scene.tables.markers.remove(...path);
    for (const life of [...this.#lives]) life.die("with its machine");
  }

  /** One process stands still for a while, and the others cannot tell that from death. */
  sleep(): void {
    const { rng, agenda, counts } = this.#scene;
    if (this.#lives.length === 0) return;
    counts.sleeps += 1;
    agenda.sleep(rng.pick(this.#lives).number, agenda.now() + rng.between(2000, 100_000));
  }

  /** One worker is asked to stop, finishes what it has begun, and a new one takes its place. */
  stop(): void {
    const { rng, counts } = this.#scene;
    const life = this.#lives.length === 0 ? null : rng.pick(this.#lives);
    if (life?.engine == null || !life.works) return;
    counts.stops += 1;
    const { engine } = life;
    life.engine = null;
    void engine.close().then(() => life.die("in peace"));
  }

  /** The weather clears: whoever is dead comes back soon. */
  calm(): void {
    this.#closing = true;
  }
}
