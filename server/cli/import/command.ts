import type { CommandContext } from '../command_context.ts';
import { importFile } from './import.ts';
import { stopSignal } from '../process/stop_signal.ts';
import { WrongUsageError } from '../user_error.ts';

/** The options of `sluice import` as the command line gives them. */
type ImportFlags = {
  project: string;
  url?: string;
  key?: string;
  eventName?: string;
  eventField?: string;
  distinctIdField?: string;
  distinctIdDefault?: string;
  timestampField?: string;
  uuidField?: string;
  timezone: string;
  dryRun?: boolean;
};

/**
 * `sluice import`: sends a file to a running server. Exit code 1 when lines were refused, which are
 * named; 130 and the like when a signal stopped it.
 */
export async function importCommand(
  { config, say }: CommandContext,
  file: string,
  flags: ImportFlags,
): Promise<number> {
  const key = flags.key ?? config.owner_api_key ?? '';
  if (key === '' && flags.dryRun !== true)
    throw new WrongUsageError(
      'An import needs a key with the scope event:write: --key slk_..., or SLUICE_OWNER_API_KEY.',
    );
  const is_tty = process.stdout.isTTY && flags.dryRun !== true;
  // To the left edge, and everything to the right of it away: a line that is drawn stands there.
  const wipe = is_tty ? '\r\u001b[K' : '';
  return importFile(
    {
      file,
      project: flags.project,
      url: flags.url ?? config.public_url,
      key,
      event_name: flags.eventName,
      event_field: flags.eventField,
      distinct_id_field: flags.distinctIdField,
      distinct_id_default: flags.distinctIdDefault,
      timestamp_field: flags.timestampField,
      uuid_field: flags.uuidField,
      timezone: flags.timezone,
      dry_run: flags.dryRun ?? false,
      stopped: stopSignal(),
    },
    {
      stdin: process.stdin,
      is_tty,
      say: (line) => say(`${wipe}${line}`),
      complain: (line) => process.stderr.write(`${wipe}${line}\n`),
      draw: (text) => process.stdout.write(`${wipe}${text}`),
    },
  );
}
