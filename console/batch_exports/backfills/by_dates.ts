/** The address's value for a backfill whose dates are typed. */
export const by_dates = 'dates';
