import type { CommandContext } from './command_context.ts';
import { importFile } from './import.ts';
import { UserError } from './user_error.ts';

/** The options of `sluice import` as the command line gives them. */
export type ImportFlags = {
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
};

/** `sluice import`: sends a file to a running server. Exit code 1 when lines were refused; they are named. */
export async function importCommand(
  { config, say }: CommandContext,
  file: string,
  flags: ImportFlags,
): Promise<number> {
  const key = flags.key ?? config.owner_api_key;
  if (key === undefined)
    throw new UserError(
      'An import needs a key with the scope event:write: --key slk_..., or SLUICE_OWNER_API_KEY.',
    );
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
    },
    {
      stdin: process.stdin,
      is_tty: process.stdout.isTTY,
      say,
      complain: (line) => process.stderr.write(`${line}\n`),
    },
  );
}
