import { existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Config } from '../../config/config.ts';
import { readCatalogue } from '../../engine/plugins/packages/catalogue.ts';
import { lookAtFolder } from '../../platform/folders/folders.ts';
import type { Logger } from '../../platform/log.ts';
import type { Parts } from '../serve.ts';
import { UserError } from '../user_error.ts';

/**
 * Checks the files and folders that the settings name, before anything starts; creates none. Throws
 * a `UserError` that names the setting if the value can never be right: a file instead of a folder,
 * a wrong catalogue. If a file or folder is unusable only now, such as an unmounted disk, logs a
 * warning: most of a server works without.
 */
export function lookAtNamedFiles(config: Config, log: Logger, { api }: Pick<Parts, 'api'>): void {
  requireFolder('SLUICE_EXPORT_DIR', config.export_dir, (problem) =>
    log.warn(`SLUICE_EXPORT_DIR: ${problem}; exports to files will fail`),
  );
  lookAtOtherFiles(config, (text) => log.warn(text), { api });
}

/** As `lookAtNamedFiles`, for all but the export folder. */
export function lookAtOtherFiles(
  { plugin_dir, traces_file, plugin_catalogue }: Config,
  warn: (text: string) => void,
  { api }: Pick<Parts, 'api'>,
): void {
  // The process only reads this folder, so it need not be writable.
  if (api) requireFolder('SLUICE_PLUGIN_DIR', plugin_dir, () => undefined);
  if (traces_file !== undefined) requireFile(traces_file, warn);
  if (api) requireCatalogue(plugin_catalogue);
}

function requireFolder(variable: string, path: string, warn: (problem: string) => void): void {
  const { problem, is_no_folder } = lookAtFolder(path);
  if (problem === undefined) return;
  if (is_no_folder) throw new UserError(`${variable} must be a folder: ${problem}.`);
  warn(problem);
}

function requireFile(path: string, tell: (text: string) => void): void {
  const variable = 'SLUICE_TRACES_FILE';
  if (existsSync(path) && statSync(path).isDirectory())
    throw new UserError(`${variable} must be a file: ${path} is a folder.`);
  const folder = dirname(path);
  const warn = (problem: string) => tell(`${variable}: ${problem}; traces will be dropped`);
  requireFolder(`The folder of ${variable}`, folder, warn);
  if (!existsSync(folder)) warn(`there is no folder ${folder}`);
}

function requireCatalogue(path: string | undefined): void {
  try {
    readCatalogue(path);
  } catch (error) {
    throw new UserError(`SLUICE_PLUGIN_CATALOGUE: ${(error as Error).message}`);
  }
}
