/** What the process of the embedded ClickHouse is told, as one line of JSON on its standard input. */
export type Orders = { folder: string; port: number; password: string; memory_bytes_max: number; operations_max: number };

/** What it says on standard output once it answers requests. */
export const readyWord = 'ready';
