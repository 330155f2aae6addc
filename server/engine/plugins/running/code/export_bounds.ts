import type { LoadedTool } from '../loaded_tool.ts';
import type { Batching } from '../sending/batching.ts';

/** The batches of `exportEvents`, and the events that it does not get. */
type ExportBounds = { batching: Batching; reads: LoadedTool['reads']; ignored: Set<string> };

const rows_max = 500;

/** Reads the bounds that users set in plugins of this kind, by their known names. */
export function exportBounds(config: Record<string, unknown>): ExportBounds {
  const within = (value: unknown, standard: number, max: number) => {
    const number = Number(value ?? standard);
    return Number.isFinite(number) ? Math.min(Math.max(number, 1), max) : standard;
  };
  const ignored =
    typeof config['exportEventsToIgnore'] === 'string' ? config['exportEventsToIgnore'] : '';
  return {
    // Files and transactions of such plugins are of one batch, and the same one comes again.
    batching: { size: rows_max, is_in_order: true, whole_tries: 2 },
    reads: {
      rows_max,
      // Text in characters is what a call is bounded by, and every one of these bytes can be an
      // escape in it.
      bytes_max: within(config['exportEventsBufferBytes'], 1024 * 1024, 4 * 1024 * 1024),
      seconds_min: within(config['exportEventsBufferSeconds'], 10, 600),
    },
    ignored: new Set(
      ignored
        .split(',')
        .map((name) => name.trim())
        .filter((name) => name !== ''),
    ),
  };
}
