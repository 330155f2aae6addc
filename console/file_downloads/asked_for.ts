import type { NewFileDownload } from '../../server/api/file_downloads/schema.ts';
import { typedAt } from '../time/zone.ts';

/** The value of a choice that chooses nothing. */
export const nothing = 'none';

/** The fields of the form, as texts. */
type Typed = Partial<
  Record<'start_at' | 'end_at' | 'model' | 'batch_export' | 'file_format' | 'compression', string>
>;

/** The download that a form asks for: whole days by the clocks of the zone. */
export function askedFor(typed: Typed, zone: string, now: number): NewFileDownload {
  const { start_at = '', end_at = '', model, batch_export = nothing, compression } = typed;
  const day_after = new Date(Date.parse(`${end_at}T00:00:00Z`) + 86_400_000);
  const end = Number.isNaN(day_after.getTime()) ? '' : day_after.toISOString().slice(0, 10);
  const asked = {
    start_at: instantOf(start_at, zone),
    // The present day has no end yet.
    end_at: instantOf(end, zone, now),
    file_format: typed.file_format,
    compression: compression === nothing ? null : compression,
    ...(batch_export === nothing ? { model } : { batch_export }),
  };
  // The API checks the choices.
  return asked as NewFileDownload;
}

/** A text that is no day is sent as typed: the API reports the fault. */
function instantOf(day: string, zone: string, latest = Infinity): string {
  const at = typedAt(day, zone);
  return at === undefined ? day : new Date(Math.min(at, latest)).toISOString();
}
