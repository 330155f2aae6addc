import { parentPort, Worker } from 'node:worker_threads';
import { compiledModules } from './compiled.ts';

/**
 * Time for which an unused thread is kept: it occupies some 10 MB, and the memory of its last
 * reading.
 */
const idle_ms = 30_000;

type Waiting<Reply> = { resolve(reply: Reply): void; reject(error: unknown): void };
type Running<Reply> = {
  worker: Worker;
  waiting: Map<number, Waiting<Reply>>;
  idle: NodeJS.Timeout | undefined;
};

/** A thread of the process that answers requests outside the event loop. */
export type Thread<Question extends object, Reply extends object> = {
  /**
   * Asks the thread and waits for its answer. Transferred buffers are no longer usable afterwards.
   */
  ask(question: Question, transferred?: ArrayBuffer[]): Promise<Reply>;
  /** Sends a message without an answer; does nothing if the thread does not run. */
  tell(question: Question): void;
};

/**
 * Opens a thread of the module, which answers by `answerQuestions`. It starts with the first
 * request, ends after half a minute without one, and keeps no process alive. If it dies, its
 * requests are rejected, and the next one starts a new thread.
 */
export function openThread<Question extends object, Reply extends object>(
  module: URL,
  memory_mb_max: number,
): Thread<Question, Reply> {
  let running: Running<Reply> | undefined;
  let last_id = 0;
  const end = (ended: Running<Reply>, error: unknown = new Error('The thread ended.')) => {
    if (running === ended) running = undefined;
    clearTimeout(ended.idle);
    for (const { reject } of ended.waiting.values()) reject(error);
    ended.waiting.clear();
    void ended.worker.terminate();
  };
  const start = (): Running<Reply> => {
    const worker = new Worker(module, {
      env: compiledModules(),
      resourceLimits: { maxOldGenerationSizeMb: memory_mb_max },
    });
    const started: Running<Reply> = { worker, waiting: new Map(), idle: undefined };
    worker.on('message', ({ id, reply }: { id: number; reply: Reply }) => {
      started.waiting.get(id)?.resolve(reply);
      started.waiting.delete(id);
      if (started.waiting.size > 0) return;
      worker.unref();
      clearTimeout(started.idle);
      started.idle = setTimeout(() => end(started), idle_ms).unref();
    });
    worker.on('error', (error) => end(started, error));
    worker.on('exit', () => end(started));
    return started;
  };
  return {
    ask: (question, transferred = []) => {
      const { worker, waiting, idle } = (running ??= start());
      clearTimeout(idle);
      worker.ref();
      const id = (last_id += 1);
      return new Promise((resolve, reject) => {
        waiting.set(id, { resolve, reject });
        worker.postMessage({ id, question }, transferred);
      });
    },
    tell: (question) => running?.worker.postMessage({ id: 0, question }, []),
  };
}

/**
 * The thread's own side: answers each request; messages without an answer get none. Buffers of a
 * reply in `transferred` are moved instead of copied.
 */
export function answerQuestions<Question extends object, Reply extends object>(
  answer: (question: Question) => Reply | undefined,
  transferred: (reply: Reply) => ArrayBuffer[] = () => [],
): void {
  parentPort?.on('message', ({ id, question }: { id: number; question: Question }) => {
    const reply = answer(question);
    if (reply !== undefined) parentPort?.postMessage({ id, reply }, transferred(reply));
  });
}

/** Returns the buffer behind the bytes, for a transfer, if it contains nothing else. */
export function wholeBuffer({ buffer, byteLength }: Uint8Array): ArrayBuffer[] {
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : [];
}
