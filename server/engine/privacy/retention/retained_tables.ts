/** The tables whose rows go by retention. */
export const retained_tables = ['events', 'persons'] as const;

/** One of them. */
export type RetainedTable = (typeof retained_tables)[number];
