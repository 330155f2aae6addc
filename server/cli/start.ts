import type { Config } from '../config/config.ts';
import { fewFiles, openFilesLimit } from '../platform/open_files.ts';
import { collectAfterStart } from '../platform/memory/collector.ts';
import { collectYoungHeapAlone, withSmallYoungHeap } from '../platform/memory/young_heap.ts';
import type { CommandContext } from './command_context.ts';
import { keepCompiledModules } from './process/compiled_modules.ts';
import { lookAtNamedFiles } from './process/named_files.ts';
import type { Parts } from './serve.ts';
import { stopSignal } from './process/stop_signal.ts';
import { joinStores, openStores } from './stores/stores.ts';
import type { Stores } from './stores/stores.ts';

/** Time limit for a server to stop after its last answers. */
const stop_ms_max = 30_000;
/** Time for which open handles may keep the process after a failed start. */
const failed_ms_max = 2_000;
/** The longest interval of a timer. */
const held_ms = 2 ** 31 - 1;

/**
 * Runs a server process until a signal stops it. Guarantees: SIGINT and SIGTERM let requests and
 * slices in progress finish safely, stop the stores and exit with 0. A second signal after a second
 * or more exits at once. A server that cannot start stops its stores and ends with the error.
 */
export async function start(
  context: CommandContext,
  parts: Parts,
  isDemo: boolean,
): Promise<number> {
  const { config, say } = context;
  lookAtNamedFiles(config, context.log, parts);
  const few = fewFiles(openFilesLimit());
  if (few !== undefined) context.log.warn(few);
  collectYoungHeapAlone();
  const stopped = stopSignal().then(() => 0);
  let isFault = false;
  const crashed = crash(context).then((code) => {
    isFault = true;
    return code;
  });
  const starting = startParts(context, parts);
  starting.catch(() =>
    setTimeout(() => process.exit(process.exitCode ?? 1), failed_ms_max).unref(),
  );
  const early = await Promise.race([starting.then(() => undefined), stopped]);
  // Stopped during the start: the embedded stores end with this process, and everything else can be
  // repeated.
  if (early !== undefined) process.exit(early);
  const server = await starting;
  if (!parts.api) say('Sluice worker is ready.');
  const demo = isDemo
    ? import('./demo.ts')
        .then(({ runDemo }) => runDemo(server, config, say))
        .catch((error: unknown) =>
          say(`The demo stopped: ${error instanceof Error ? error.message : String(error)}`),
        )
    : undefined;
  const lost = server.lost.then(() => {
    say(
      "The server that owns this worker's stores has ended or restarted. Start the worker again.",
    );
    return 1;
  });
  // A worker whose stores are all unreachable has no open handles, so Node would end it.
  const held = setInterval(() => undefined, held_ms);
  const code = await Promise.race([stopped, crashed, lost]);
  clearInterval(held);
  say('Stopping.');
  await Promise.race([
    server.stop({ is_fault: isFault }),
    new Promise((resolve) =>
      setTimeout(resolve, stop_ms_max + config.drain_seconds * 1000).unref(),
    ),
  ]);
  await Promise.race([demo, Promise.resolve()]);
  // A client's connection that stays open would keep the process alive; everything important was
  // stopped above.
  setImmediate(() => process.exit(code));
  return code;
}

/**
 * Loads the parts while the stores start: that takes a second, and the stores are separate
 * processes.
 */
async function startParts({ config, log, say }: CommandContext, parts: Parts) {
  let begin = () => {};
  const begun = new Promise<void>((resolve) => (begin = resolve));
  const opening = parts.api
    ? openStores(config, log, { begun: begin })
    : joinStores(config, log, { start: 'never' });
  return withSmallYoungHeap(async () => {
    const serve = await loadParts(config, begun, opening);
    return serve(config, log, await opening, parts, say);
  }).finally(collectAfterStart);
}

/** Loads the server's code. Guarantee: if that fails, the stores are stopped. */
async function loadParts({ data_dir }: Config, begun: Promise<void>, opening: Promise<Stores>) {
  try {
    await Promise.race([begun, opening]);
    keepCompiledModules(data_dir);
    return (await import('./serve.ts')).serve;
  } catch (error) {
    // Stores that could not start have already stopped.
    await opening.then((stores) => stores.close()).catch(() => undefined);
    throw error;
  }
}

function crash({ log }: CommandContext): Promise<number> {
  return new Promise((resolve) => {
    for (const kind of ['uncaughtException', 'unhandledRejection'] as const) {
      process.on(kind, (error: unknown) => {
        log.fatal({ err: error }, 'a fault that nobody handled; the process stops in order');
        resolve(1);
      });
    }
  });
}
