/** What the process of the embedded ClickHouse is told, as one line of JSON on its standard input. */
export type Orders = { folder: string; port: number; password: string; memory_bytes_max: number; operations_max: number };

/** What it says on standard output once it answers requests. */
export const readyWord = 'ready';

/** The niceness of the engine's process and of what it is asked for, but for large answers: whoever waits for this engine waits for a query anyway, and the API and PostgreSQL answer in milliseconds when they get the processor at once. */
export const engine_niceness = 5;
