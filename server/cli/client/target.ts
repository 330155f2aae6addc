import { processEnvironment } from '../../config/environment.ts';
import { valueOf } from '../../config/from_files.ts';
import { ownUrl } from '../../config/public_url.ts';
import { serverAddress } from '../server_address.ts';
import { KeyError, WrongUsageError } from '../user_error.ts';
import { readProfiles } from './profiles.ts';
import type { Profile } from './profiles.ts';

/** The options that select the server and the key of a command. */
export type TargetFlags = { url?: string; key?: string; profile?: string; project?: string };

/** A server, the key for it, and the selected project. */
export type Target = { address: string; key: string; project: string };

/**
 * Returns the server of a command. Order of precedence: an option, a named profile, the environment
 * (SLUICE_URL, SLUICE_API_KEY), the current profile. A profile's key is only sent to the address of
 * that profile.
 */
export function findTarget(flags: TargetFlags): Target {
  const { current, profiles } = readProfiles();
  const name = flags.profile ?? given('SLUICE_PROFILE');
  const named = name === undefined ? undefined : getProfile(profiles, name);
  const used = current === undefined ? undefined : profiles[current];
  const url =
    flags.url ?? named?.url ?? given('SLUICE_URL') ?? given('SLUICE_PUBLIC_URL') ?? used?.url;
  const address = url === undefined ? localAddress() : serverAddress(url);
  const isOfAddress = (profile: Profile | undefined) => profile?.url === address;
  const profile = [named, used, ...Object.values(profiles)].find(isOfAddress);
  const key =
    flags.key ??
    (named === profile ? named?.key : undefined) ??
    given('SLUICE_API_KEY') ??
    given('SLUICE_OWNER_API_KEY') ??
    profile?.key;
  return {
    address,
    key: key?.trim() ?? '',
    project: flags.project ?? profile?.project ?? '@current',
  };
}

/** Like `findTarget`; throws `KeyError` if there is no key for the server. */
export function getTarget(flags: TargetFlags): Target {
  const target = findTarget(flags);
  if (target.key !== '') return target;
  throw new KeyError(
    `There is no API key for ${target.address}: run \`sluice login\`, or use --key or ` +
      'SLUICE_API_KEY.',
  );
}

function getProfile(profiles: Record<string, Profile>, name: string): Profile {
  if (Object.hasOwn(profiles, name)) return profiles[name]!;
  const known = Object.keys(profiles).join(', ');
  throw new WrongUsageError(
    `There is no profile ${name}${known === '' ? '' : ` (there are ${known})`}: create it with ` +
      `\`sluice login --profile ${name}\`.`,
  );
}

/**
 * Returns a setting from this environment or from the file that it names; an empty one counts as
 * unset.
 */
export function given(name: string): string | undefined {
  const { value, fault } = valueOf(processEnvironment(), name);
  if (fault !== undefined) throw new WrongUsageError(`${fault.variable} ${fault.detail}`);
  return value;
}

/** Returns the address of the server that this environment's settings start. */
export function localAddress(): string {
  const own = ownUrl(given('SLUICE_HOST') ?? '127.0.0.1', Number(given('SLUICE_PORT') ?? 8000));
  return serverAddress(given('SLUICE_PUBLIC_URL') ?? own);
}
