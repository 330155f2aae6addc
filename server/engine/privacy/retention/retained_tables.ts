/** The tables whose rows retention removes. */
export const retained_tables = ['events', 'persons'] as const;

export type RetainedTable = (typeof retained_tables)[number];
