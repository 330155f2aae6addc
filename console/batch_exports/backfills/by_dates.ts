/** Stands in the address for a backfill that is asked for by typing its dates. */
export const by_dates = 'dates';
