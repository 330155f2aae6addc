import { statSync } from 'node:fs';
import { findTarget, getTarget } from '../client/target.ts';
import type { TargetFlags } from '../client/target.ts';
import type { Output } from '../client/print.ts';
import type { ImportFormat } from './formats.ts';
import { importFile } from './import.ts';
import { describeMapping } from './mapping.ts';
import { bringFiles } from '../move_in/history.ts';
import { terminalText } from '../../platform/terminal_text.ts';
import { stopSignal } from '../process/stop_signal.ts';

/** The options of `sluice import` on the command line. */
type ImportFlags = TargetFlags & {
  from?: ImportFormat;
  eventName?: string;
  eventField?: string;
  distinctIdField?: string;
  distinctIdDefault?: string;
  timestampField?: string;
  uuidField?: string;
  timezone: string;
  folder: string;
  dryRun?: boolean;
};

/**
 * `sluice import`: sends a file, or all files of a folder or bucket, to a running server. Exit code
 * 1 if lines were refused, which are named; 130 and the like after a signal.
 */
export async function importCommand(
  output: Output,
  file: string,
  flags: ImportFlags,
): Promise<number> {
  const target = flags.dryRun === true ? findTarget(flags) : getTarget(flags);
  const is_tty = output.is_terminal && flags.dryRun !== true;
  // Moves to the left edge and clears the rest, because the progress line is there.
  const wipe = is_tty ? '\r\u001b[K' : '';
  const say = (line: string) => output.write(`${wipe}${terminalText(line)}\n`);
  const options = {
    format: flags.from,
    event_name: flags.eventName,
    event_field: flags.eventField,
    distinct_id_field: flags.distinctIdField,
    distinct_id_default: flags.distinctIdDefault,
    timestamp_field: flags.timestampField,
    uuid_field: flags.uuidField,
    timezone: flags.timezone,
    dry_run: flags.dryRun ?? false,
    stopped: stopSignal(),
  };
  const { project, address: url, key } = target;
  if (isPlace(file))
    return bringFiles(
      {
        server: target,
        project,
        key: `${url} ${project} ${describeMapping(options)}`,
        folder: flags.folder,
        options,
        tell: say,
      },
      file,
    );
  return importFile(
    { ...options, file, project, url, key },
    {
      stdin: process.stdin,
      is_tty,
      say,
      complain: (line) => process.stderr.write(`${wipe}${line}\n`),
      draw: (text) => output.write(`${wipe}${text}`),
    },
  );
}

/** True for the name of a bucket or a folder, and not for that of a file. */
function isPlace(name: string): boolean {
  return (
    name.startsWith('s3://') || statSync(name, { throwIfNoEntry: false })?.isDirectory() === true
  );
}
