import { processEnvironment } from '../../config/environment.ts';
import { valueOf } from '../../config/from_files.ts';
import { ownUrl } from '../../config/public_url.ts';
import { serverAddress } from '../server_address.ts';
import { KeyError, WrongUsageError } from '../user_error.ts';
import { readProfiles } from './profiles.ts';
import type { Profile } from './profiles.ts';

/** The options with which every command that asks a server says which, and as whom. */
export type TargetFlags = { url?: string; key?: string; profile?: string; project?: string };

/** A server, as whom it is asked, and the project that is meant. */
export type Target = { address: string; key: string; project: string };

/**
 * The server that a command asks. An option counts more than a profile that is named, that more
 * than the environment (SLUICE_URL, SLUICE_API_KEY), that more than the profile in use. A key of a
 * profile goes to the address of that profile alone.
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

/** As `findTarget`; throws `KeyError` where no key is known for the server. */
export function getTarget(flags: TargetFlags): Target {
  const target = findTarget(flags);
  if (target.key !== '') return target;
  throw new KeyError(
    `There is no API key for ${target.address}: run \`sluice login\`, or give --key or ` +
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

/** A setting of this environment, or of the file that it names; an empty one is not given. */
export function given(name: string): string | undefined {
  const { value, fault } = valueOf(processEnvironment(), name);
  if (fault !== undefined) throw new WrongUsageError(`${fault.variable} ${fault.detail}`);
  return value;
}

/** The address of the server that the settings of this environment start. */
export function localAddress(): string {
  const own = ownUrl(given('SLUICE_HOST') ?? '127.0.0.1', Number(given('SLUICE_PORT') ?? 8000));
  return serverAddress(given('SLUICE_PUBLIC_URL') ?? own);
}
