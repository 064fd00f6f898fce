import { type ChildProcess, spawn } from "node:child_process";

/**
 * A shell that reads a pipe of this process. The pipe ends however this process dies; then the shell kills the
 * remaining child processes, stopped ones too, and removes the folders, also those on which the test mounted a disk.
 */
const guardScript = `pids=" "
while read -r verb pid; do
  case $verb in
    keep) pids="$pids$pid " ;;
    free) case $pids in *" $pid "*) pids="\${pids%% $pid *} \${pids#* $pid }" ;; esac ;;
  esac
done
for pid in $pids; do kill -9 "$pid"; done 2>/dev/null
for folder; do
  umount -l "$folder" 2>/dev/null
  tries=0
  until rm -rf "$folder" 2>/dev/null || [ $tries -ge 50 ]; do tries=$((tries + 1)); sleep 0.1; done
done`;

export interface CleanupGuard {
  /** Guards a child process until it exits. */
  keep<Child extends ChildProcess>(child: Child): Child;
  /** Kills all children and removes the folders now. */
  end(): Promise<void>;
}

export function startCleanupGuard(folders: readonly string[]): CleanupGuard {
  // In its own session, so that an interrupt of the terminal does not stop it before the cleanup.
  const shell = spawn("sh", ["-c", guardScript, "guard", ...folders], {
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
