import type { Engine } from "../src/engine/api.ts";
import { actNames } from "./cast.ts";
import { judgePowerCut } from "./laws/power-cut.ts";
import { Life } from "./life.ts";
import type { Scene } from "./scene.ts";

/** Something that was asked of a process and is not answered yet. */
interface Call {
  readonly life: Life;
  readonly what: string;
}

/** The processes of a simulation: workers that die and come back, and one that only takes commands. */
export class Company {
  readonly #scene: Scene;
  readonly #lives: Life[] = [];
  readonly #calls = new Set<Call>();
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
    const { rng, swarm } = this.#scene;
    this.#born += 1;
    const missing = works && !this.#closing && rng.chance(swarm.skew) ? rng.pick(actNames) : null;
    this.#lives.push(new Life(this.#scene, this.#born, { works, missing }, (life) => this.#mourn(life)));
  }

  #mourn(life: Life): void {
    this.#lives.splice(this.#lives.indexOf(life), 1);
    for (const call of this.#calls) if (call.life === life) this.#calls.delete(call);
    const { agenda, rng, swarm } = this.#scene;
    const happen = () => {
      this.#begin(life.works);
      return "started";
    };
    const pause = this.#closing ? 1 : rng.below(swarm.restartMs);
    agenda.addAt(agenda.now() + pause, { name: "start", owner: 0, about: "", happen });
  }

  /** Asks any process that answers; null if there is none. The answer may never come. */
  ask<Value>(what: string, ask: (engine: Engine) => Promise<Value>): Promise<Value> | null {
    const open = this.#lives.filter(({ engine }) => engine !== null);
    if (open.length === 0) return null;
    const life = this.#scene.rng.pick(open);
    const call = { life, what };
    this.#calls.add(call);
    return ask(life.engine as Engine).finally(() => this.#calls.delete(call));
  }

  /** What living processes owe an answer to. */
  get owed(): readonly string[] {
    return Array.from(this.#calls, ({ what, life }) => `${what} (w${life.number})`);
  }

  /** A machine restarts: everyone on it dies, and markers that were not synced may be gone. */
  reboot(): void {
    const scene = this.#scene;
    scene.counts.reboots += 1;
    scene.boot = scene.newId("boot");
    for (const [path] of scene.tables.markers.sorted()) if (scene.rng.chance(0.5)) scene.tables.markers.remove(...path);
    for (const life of [...this.#lives]) life.die("with its machine");
  }

  /** The store goes down with its machine, and what it had not synced may be gone. */
  blackout(): void {
    const scene = this.#scene;
    scene.blackout = false;
    scene.powerCuts += 1;
    scene.counts.powerCuts += 1;
    scene.counts.unsynced += scene.unsynced.lose(scene.rng);
    judgePowerCut(scene);
    this.reboot();
  }

  /** One process stands still for a while, and the others cannot tell that from death. */
  sleep(): void {
    const { rng, agenda, counts } = this.#scene;
    if (this.#lives.length === 0) return;
    counts.sleeps += 1;
    agenda.sleep(rng.pick(this.#lives).number, agenda.now() + rng.between(2000, 100_000));
  }

  /** One worker is asked to stop. */
  stop(): void {
    const working = this.#lives.filter(({ works }) => works);
    if (working.length > 0) this.#stop(this.#scene.rng.pick(working));
  }

  /** It finishes what it has begun, and a new one takes its place. */
  #stop(life: Life): void {
    const { engine } = life;
    if (engine === null) return;
    this.#scene.counts.stops += 1;
    life.engine = null;
    life.stopping = true;
    void engine.close().then(() => life.die("in peace"));
  }

  /** The weather clears: whoever is dead comes back soon, and whoever lacks a tool makes room for one who has them all. */
  calm(): void {
    this.#closing = true;
    for (const life of [...this.#lives]) if (life.missing !== null) life.die("to be replaced");
  }
}
