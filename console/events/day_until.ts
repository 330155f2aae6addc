const hour_ms = 3_600_000;
const day_ms = 24 * hour_ms;

/**
 * A day of whole hours, as a backfill takes it: up to the end of the hour of the instant, which is
 * not to lie behind the present one.
 */
export function dayUntil(at: string, now_ms: number): { start_at: string; end_at: string } {
  const last = Math.min(Date.parse(at), now_ms);
  const end = Math.floor(last / hour_ms) * hour_ms + hour_ms;
  return { start_at: new Date(end - day_ms).toISOString(), end_at: new Date(end).toISOString() };
}
