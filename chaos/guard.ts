import { type ChildProcess, spawn } from "node:child_process";

/**
 * A shell that reads a pipe which only this process holds. However this process dies, the pipe ends; then the shell kills what
 * is left, also what was stopped and could not notice, and removes the folders.
 */
const script = `pids=" "
while read -r verb pid; do
  case $verb in
    keep) pids="$pids$pid " ;;
    free) case $pids in *" $pid "*) pids="\${pids%% $pid *} \${pids#* $pid }" ;; esac ;;
  esac
done
for pid in $pids; do kill -9 "$pid"; done 2>/dev/null
for folder; do
  tries=0
  until rm -rf "$folder" 2>/dev/null || [ $tries -ge 50 ]; do tries=$((tries + 1)); sleep 0.1; done
done`;

export interface Guard {
  /** From now on until it has ended, the child is looked after. */
  keep<Child extends ChildProcess>(child: Child): Child;
  /** Kills and removes all of it now. */
  end(): Promise<void>;
}

export function guardOf(folders: readonly string[]): Guard {
  // In a session of its own: who interrupts the terminal does not stop it before it has cleaned up.
  const shell = spawn("sh", ["-c", script, "guard", ...folders], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  const over = new Promise<void>((resolve) => shell.once("exit", () => resolve()));
  shell.unref();
  return {
    keep: (child) => {
      const { pid } = child;
      if (pid === undefined) throw new Error("the child was not started");
      shell.stdin.write(`keep ${pid}\n`);
      child.once("exit", () => void (shell.stdin.writable && shell.stdin.write(`free ${pid}\n`)));
      return child;
    },
    end: () => {
      shell.ref();
      shell.stdin.end();
      return over;
    },
  };
}
