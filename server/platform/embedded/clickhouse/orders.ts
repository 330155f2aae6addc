/** Orders for the process of the embedded ClickHouse, one line of JSON on its standard input. */
export type Orders = {
  folder: string;
  port: number;
  password: string;
  memory_bytes_max: number;
  operations_max: number;
  alive_ms: number;
};

/** The word on standard output once the process answers requests. */
export const readyWord = 'ready';

/**
 * The word on standard output that repeats while the process's thread runs, so that a hang is
 * noticed.
 */
export const aliveWord = 'alive';

/**
 * Longest silence before the process counts as hanging; the word is sent at least ten times as
 * often.
 */
export const alive_ms_max = 5_000;

/**
 * The niceness of the engine's process and its queries, except large answers. Callers of this
 * engine wait for a query anyway; the API and PostgreSQL answer in milliseconds if they get the
 * processor at once.
 */
export const engine_niceness = 5;

/**
 * Niceness of large answers, which belong to exports and can wait. With equal priority for all
 * threads of the engine, a reader of the API beside an export waited twice as long. A process that
 * may not raise a thread's priority again gets one priority for all threads, and the engine leaves
 * it unchanged.
 */
export const large_answer_niceness = 15;

/** The signal that asks it to end in order; a signal for the server above it never uses it. */
export const stopSignal = 'SIGUSR2';
