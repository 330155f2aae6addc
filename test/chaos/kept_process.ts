import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** A process that restarts whenever it ends. */
export type Kept = {
  pid(): number | undefined;
  /** Why the last start failed. */
  fault(): string | undefined;
  stop(): Promise<void>;
};

const restart_pause_ms = 200;

/**
 * Runs the process that `start` returns once it is ready, and restarts it whenever it ends, like an
 * init system. Rejects if the first start does.
 */
export async function keepRunning(start: () => Promise<ChildProcess>): Promise<Kept> {
  let isStopping = false;
  let child: ChildProcess | undefined;
  let fault: string | undefined;
  const launch = async () => {
    const started = await start();
    child = started;
    const exited =
      started.exitCode === null && started.signalCode === null
        ? once(started, 'exit')
        : Promise.resolve();
    void exited.then(() => (child = undefined));
    if (isStopping) started.kill('SIGTERM');
    return { exited };
  };
  const first = await launch();
  const loop = async () => {
    await first.exited;
    while (!isStopping) {
      await new Promise((resolve) => setTimeout(resolve, restart_pause_ms));
      const next = await launch().catch((error: unknown) => void (fault = String(error)));
      await next?.exited;
    }
  };
  const done = loop();
  return {
    pid: () => child?.pid,
    fault: () => fault,
    stop: async () => {
      isStopping = true;
      child?.kill('SIGTERM');
      await done;
    },
  };
}

/** Starts the S3 store of a campaign; resolves when it listens. */
export async function startS3(folder: string, port: number): Promise<ChildProcess> {
  const program = fileURLToPath(new URL('./s3_process.ts', import.meta.url));
  const child = spawn(process.execPath, [program, folder, String(port)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const isReady = await Promise.race([
    once(child.stdout, 'data').then(() => true),
    once(child, 'exit').then(() => false),
  ]);
  if (!isReady) throw new Error('The S3 store did not start.');
  return child;
}
