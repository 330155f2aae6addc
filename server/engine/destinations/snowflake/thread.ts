import { Worker } from 'node:worker_threads';
import { compiledModules } from '../../../platform/processes/compiled.ts';
import { moduleBeside } from '../../../platform/processes/module_beside.ts';

/**
 * Time for which an unused thread is kept, and the number of such threads: loading the client takes
 * a second, keeping it some 80 MB. Two, since the runs of a backfill come two and more at a time:
 * with one, each further run would load it again.
 */
const spare_milliseconds = 60_000;
const spares_max = 2;

const spares = new Map<Worker, NodeJS.Timeout>();

/**
 * Returns a thread with the official client in it and no connection: a returned one, or a new one.
 * Of the process's environment, it only has the compile cache: so the client asks no cloud for
 * metadata, finds no proxy and no credentials, and sends no telemetry. Nobody reads its console.
 */
export function takeThread(): Worker {
  const thread = [...spares.keys()].at(-1);
  if (thread === undefined) {
    return new Worker(moduleBeside(import.meta, 'client_worker'), {
      env: {
        ...compiledModules(),
        SNOWFLAKE_DISABLE_PLATFORM_DETECTION: 'true',
        SF_TELEMETRY_DISABLE_CONNECTION_SHAPE: 'true',
        SNOWFLAKE_DISABLE_MINICORE: 'true',
      },
      stdout: true,
      stderr: true,
    });
  }
  forget(thread);
  thread.ref();
  return thread;
}

/**
 * Keeps a thread whose connection was closed or refused, and that has no pending call; at most two
 * are kept, and they do not keep the process alive.
 */
export function giveThreadBack(thread: Worker): void {
  // By name: without one, a listener of the thread's own would go too.
  for (const event of ['message', 'error', 'exit']) thread.removeAllListeners(event);
  if (spares.size >= spares_max) return void thread.terminate();
  const end = () => {
    forget(thread);
    void thread.terminate();
  };
  spares.set(thread, setTimeout(end, spare_milliseconds).unref());
  thread.once('error', end);
  thread.unref();
}

function forget(thread: Worker): void {
  thread.removeAllListeners('error');
  clearTimeout(spares.get(thread));
  spares.delete(thread);
}
