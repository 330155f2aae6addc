import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { environmentVariable } from '../../config/environment.ts';
import { isFields } from '../../platform/fields.ts';
import { parseJson } from '../../platform/json/parse_json.ts';
import { UserError } from '../user_error.ts';

/** A server, and the credentials for it. */
export type Profile = { url: string; key: string; project?: string };

/** All profiles by name; `current` is the default of commands. */
export type Profiles = { current: string | undefined; profiles: Record<string, Profile> };

/** Returns the file of the profiles, in XDG's configuration folder. */
export function profilesFile(): string {
  const home = environmentVariable('XDG_CONFIG_HOME') ?? '';
  return join(home === '' ? join(homedir(), '.config') : home, 'sluice', 'profiles.json');
}

/** Reads the profiles; none if the file does not exist. Throws `UserError` for a broken file. */
export function readProfiles(): Profiles {
  const file = profilesFile();
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return { current: undefined, profiles: {} };
    throw new UserError(`The profiles in ${file} cannot be read: ${code}.`);
  }
  const read = parseJson(text);
  const { current, profiles } = isFields(read) ? read : {};
  const isWhole = isFields(profiles) && Object.values(profiles).every(isProfile);
  if (!isWhole)
    throw new UserError(
      `${file} is not a valid file of profiles: remove it, then run \`sluice login\`.`,
    );
  return {
    current: typeof current === 'string' ? current : undefined,
    profiles: profiles as Record<string, Profile>,
  };
}

/**
 * Writes the profiles. Guarantees: only their owner can read them (mode 0600, the folder 0700), and
 * after a crash the file is either the old or the new one.
 */
export function writeProfiles(profiles: Profiles): void {
  const file = profilesFile();
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    const beside = `${file}.${process.pid}`;
    writeFileSync(beside, `${JSON.stringify(profiles, null, 2)}\n`, { mode: 0o600 });
    // A file that an earlier crash left keeps its mode when it is written again.
    chmodSync(beside, 0o600);
    renameSync(beside, file);
  } catch (error) {
    throw new UserError(`${file} cannot be written: ${(error as NodeJS.ErrnoException).code}.`);
  }
}

function isProfile(value: unknown): value is Profile {
  return isFields(value) && typeof value['url'] === 'string' && typeof value['key'] === 'string';
}
