const hour_ms = 3_600_000;
const day_ms = 24 * hour_ms;

/**
 * Returns a day of whole hours for a backfill: until the end of the instant's hour, but not in the
 * future.
 */
export function dayUntil(at: string, now_ms: number): { start_at: string; end_at: string } {
  const last = Math.min(Date.parse(at), now_ms);
  const end = Math.floor(last / hour_ms) * hour_ms + hour_ms;
  return { start_at: new Date(end - day_ms).toISOString(), end_at: new Date(end).toISOString() };
}
