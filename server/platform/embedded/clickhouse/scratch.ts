import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { moduleBeside } from '../../processes/module_beside.ts';
import { dieWithParent, ownEnvironment } from '../programs.ts';
import type { ScratchAnswer, ScratchQuestion } from './scratch_worker.ts';

/** An engine without permanent data, for queries over files of this machine. */
export type ScratchEngine = {
  /**
   * Runs SQL and returns its answer as tab-separated text. Throws the engine's fault. `signal` ends
   * the engine.
   */
  run(sql: string, signal: AbortSignal): Promise<string>;
  /** Ends the process. The caller removes the folder. */
  close(): Promise<void>;
};

/**
 * Starts ClickHouse (chDB) in a separate process on an empty folder. It ends with this process,
 * when `signal` aborts, and on `close`. All queries together use at most `memory_bytes_max`.
 */
export async function openScratchEngine(
  folder: string,
  memory_bytes_max: number,
  signal: AbortSignal,
): Promise<ScratchEngine> {
  signal.throwIfAborted();
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const [program, ...rest] = [
    ...dieWithParent('KILL'),
    process.execPath,
    fileURLToPath(moduleBeside(import.meta, 'scratch_worker')),
    folder,
    String(memory_bytes_max),
  ];
  const child = spawn(program, rest, {
    cwd: folder,
    env: { ...ownEnvironment(), TZ: 'UTC' },
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  const stop = () => void child.kill('SIGKILL');
  signal.addEventListener('abort', stop, { once: true });
  const end = async () => {
    signal.removeEventListener('abort', stop);
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    stop();
    await ended;
  };
  try {
    await answerOf(child, signal);
  } catch (error) {
    await end();
    throw error;
  }
  return {
    run: async (sql, ending) => {
      ending.addEventListener('abort', stop, { once: true });
      try {
        const answer = answerOf(child, ending);
        child.send({ sql } satisfies ScratchQuestion);
        return await answer;
      } finally {
        ending.removeEventListener('abort', stop);
      }
    },
    close: end,
  };
}

/** Returns the next answer; queries run one after the other. */
async function answerOf(child: ChildProcess, signal: AbortSignal): Promise<string> {
  const over = new AbortController();
  try {
    const answer = await Promise.race([
      once(child, 'message', { signal: over.signal }).then(([one]) => one as ScratchAnswer),
      once(child, 'exit', { signal: over.signal }).then(() => undefined),
    ]);
    signal.throwIfAborted();
    if (answer === undefined) throw new Error('The process of the scratch engine has ended.');
    if ('fault' in answer) throw new Error(answer.fault);
    return answer.text;
  } finally {
    over.abort();
  }
}
