/**
 * What the process of the embedded ClickHouse is told, as one line of JSON on its standard input.
 */
export type Orders = {
  folder: string;
  port: number;
  password: string;
  memory_bytes_max: number;
  operations_max: number;
  alive_ms: number;
};

/** What it says on standard output once it answers requests. */
export const readyWord = 'ready';

/**
 * What it says there again and again for as long as its thread goes round, so that one that hangs
 * is noticed.
 */
export const aliveWord = 'alive';

/** How often it says so, at least ten times before it counts as hanging. */
export const alive_ms_max = 5_000;

/**
 * The niceness of the engine's process and of what it is asked for, but for large answers: whoever
 * waits for this engine waits for a query anyway, and the API and PostgreSQL answer in milliseconds
 * when they get the processor at once.
 */
export const engine_niceness = 5;

/**
 * That of large answers, which are those of exports and can wait: with all threads of the engine
 * alike, a reader of the API beside an export waited twice as long. A process that may not raise a
 * thread's priority again has it for all of them, and the engine leaves it as it is.
 */
export const large_answer_niceness = 15;

/** The signal that asks it to end in order: one that nobody sends who means the server above it. */
export const stopSignal = 'SIGUSR2';
