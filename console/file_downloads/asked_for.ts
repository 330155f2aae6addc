import type { NewFileDownload } from '../../server/api/file_downloads/schema.ts';
import { typedAt } from '../time/zone.ts';

/** The value of the empty choice. */
export const nothing = 'none';

/** The fields of the form, as texts. */
type Typed = Partial<
  Record<'start_at' | 'end_at' | 'model' | 'batch_export' | 'file_format' | 'compression', string>
>;

/** Returns the download of the form: whole days in the time zone. */
export function askedFor(typed: Typed, zone: string, now: number): NewFileDownload {
  const { start_at = '', end_at = '', model, batch_export = nothing, compression } = typed;
  const asked = {
    start_at: isoOf(typedAt(start_at, zone)) ?? start_at,
    end_at: isoOf(endOf(end_at, zone, now)) ?? end_at,
    file_format: typed.file_format,
    compression: compression === nothing ? null : compression,
    ...(batch_export === nothing ? { model } : { batch_export }),
  };
  // The API checks the choices, and a text that is no day.
  return asked as NewFileDownload;
}

/** Returns the end of a day; today ends now. */
function endOf(day: string, zone: string, now: number): number | undefined {
  const start = typedAt(day, zone);
  if (start === undefined) return undefined;
  const next = new Date(Date.parse(`${day}T00:00:00Z`) + 86_400_000).toISOString().slice(0, 10);
  const end = typedAt(next, zone)!;
  return start <= now ? Math.min(end, now) : end;
}

const isoOf = (at: number | undefined) =>
  at === undefined ? undefined : new Date(at).toISOString();
