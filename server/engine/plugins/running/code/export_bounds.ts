import type { LoadedTool } from '../loaded_tool.ts';
import type { Batching } from '../sending/batching.ts';

/** The batching of `exportEvents`, and the limits of its events. */
type ExportBounds = { batching: Batching; reads: LoadedTool['reads']; ignored: Set<string> };

const rows_max = 500;

/** Reads the limits that users set in plugins of this kind, by their known names. */
export function exportBounds(config: Record<string, unknown>): ExportBounds {
  const within = (value: unknown, standard: number, max: number) => {
    const number = Number(value ?? standard);
    return Number.isFinite(number) ? Math.min(Math.max(number, 1), max) : standard;
  };
  const ignored =
    typeof config['exportEventsToIgnore'] === 'string' ? config['exportEventsToIgnore'] : '';
  return {
    // Files and transactions of such plugins contain one batch, and the same batch is retried.
    batching: { size: rows_max, is_in_order: true, whole_tries: 2 },
    reads: {
      rows_max,
      // A call is bounded in characters, and escaping can multiply every one of these bytes.
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
