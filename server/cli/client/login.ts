import { existsSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { isServiceKey } from '../../platform/http/caller/api_key.ts';
import { KeyError, WrongUsageError } from '../user_error.ts';
import { askServer } from './ask.ts';
import { printTable, printJson, say } from './print.ts';
import type { Output } from './print.ts';
import { profilesFile, readProfiles, writeProfiles } from './profiles.ts';
import type { Profile } from './profiles.ts';
import { readContent } from './read_options.ts';
import type { ReadFlags } from './read_options.ts';
import { refusalOf } from './refusal.ts';
import { findTarget, given, localAddress } from './target.ts';
import type { TargetFlags } from './target.ts';

/** The route of the caller's own account, which any personal key may read. */
const own_path = '/api/users/@me/';
/** The route of a service key's own record. */
const service_path = '/api/service_keys/@current/';

/**
 * `sluice login`: stores address and key of a server as a profile, after the server has accepted
 * the key. Without an address, in the folder of an installation, it creates a key there.
 */
export async function login(output: Output, flags: TargetFlags): Promise<number> {
  const { current, profiles } = readProfiles();
  const isLocal = flags.url === undefined && flags.key === undefined && isInInstallation();
  const { profile, ...rest } = flags;
  const address = isLocal ? localAddress() : findTarget(rest).address;
  const name = profile ?? given('SLUICE_PROFILE') ?? 'default';
  const known = Object.hasOwn(profiles, name) ? profiles[name]! : undefined;
  const key = flags.key ?? (isLocal ? await localKey(address, known) : await enteredKey(address));
  const entered: Profile = {
    url: address,
    key: key.trim(),
    ...(flags.project === undefined ? {} : { project: flags.project }),
  };
  const email = await ownerOf(entered);
  writeProfiles({ current: name, profiles: { ...profiles, [name]: entered } });
  const inUse = current === undefined || current === name ? '' : `, in use instead of ${current}`;
  say(output, `Signed in to ${address} as ${email}.`, `Profile ${name}${inUse}: ${profilesFile()}`);
  return 0;
}

/** `sluice logout`: removes a profile, by default the current one. The key itself stays valid. */
export async function logout(output: Output, flags: { profile?: string }): Promise<number> {
  const { current, profiles } = readProfiles();
  const name = flags.profile ?? current;
  if (name === undefined || !Object.hasOwn(profiles, name))
    throw new WrongUsageError(
      `There is no profile${name === undefined ? '' : ` ${name}`} to remove.`,
    );
  const { [name]: removed, ...left } = profiles;
  const next = current === name ? Object.keys(left)[0] : current;
  writeProfiles({ current: next, profiles: left });
  say(output, `Removed the profile ${name} of ${removed!.url}. Its key works until it is revoked.`);
  return 0;
}

/**
 * `sluice profiles`: lists the profiles without their keys; with a name, makes that profile the
 * current one.
 */
export async function listProfiles(
  output: Output,
  name: string | undefined,
  flags: ReadFlags,
): Promise<number> {
  const { current, profiles } = readProfiles();
  if (name !== undefined) {
    if (!Object.hasOwn(profiles, name))
      throw new WrongUsageError(`There is no profile ${name}: see \`sluice profiles\`.`);
    writeProfiles({ current: name, profiles });
    say(output, `Commands now use ${profiles[name]!.url}.`);
    return 0;
  }
  const rows = Object.entries(profiles).map(([one, { url, project }]) => ({
    name: one,
    url,
    project: project ?? null,
    is_current: one === current,
  }));
  if (flags.json === true) printJson(output, rows);
  else if (rows.length === 0 && output.is_terminal)
    say(output, 'No profiles. `sluice login` creates one.');
  else
    printTable(output, rows, [
      { title: 'name', text: (row) => row.name },
      { title: 'url', text: (row) => row.url },
      { title: 'project', text: (row) => row.project },
      { title: 'in use', text: ({ is_current }) => (is_current ? 'yes' : '') },
    ]);
  return 0;
}

/**
 * Returns true if the settings or this folder have the stores of a server and nothing names another
 * server.
 */
function isInInstallation(): boolean {
  if (given('SLUICE_URL') !== undefined) return false;
  const data = resolve(given('SLUICE_DATA_DIR') ?? './data');
  return given('SLUICE_DATABASE_URL') !== undefined || existsSync(join(data, 'postgres'));
}

/**
 * Returns a key of the installation's owner; everybody who can read its folder could create keys
 * anyway. Keeps the profile's existing key while it works.
 */
async function localKey(address: string, known: Profile | undefined): Promise<string> {
  const running = { address, key: known?.url === address ? known.key : '' };
  // Throws if no server answers, before a key is created.
  const { status } = await askServer(running, { path: own_path });
  if (status === 200) return running.key;
  const [{ issueKey }, { withProcess }, { environmentConfig }, { openLog }] = await Promise.all([
    import('../people/key.ts'),
    import('../process/with_process.ts'),
    import('../../config/config.ts'),
    import('../../platform/log.ts'),
  ]);
  const config = environmentConfig();
  const label = `sluice login, ${userName()}@${hostname()}`.slice(0, 100);
  const wanted = { label, scopes: ['*'], expires_in_days: undefined };
  const key = await withProcess(
    { config, log: openLog(config.log_level, config.log_format) },
    ({ deps }) => issueKey(deps, { ...wanted, email: config.owner_email }),
  );
  const taken = await askServer({ address, key }, { path: own_path });
  if (taken.status !== 401) return key;
  throw new KeyError(
    `The server at ${address} does not know the key of this folder: it belongs to another ` +
      "installation. Name the server's address with --url.",
  );
}

/** Returns the owner of the key. Throws if the server refuses the key. */
async function ownerOf({ url, key }: Profile): Promise<string> {
  const isService = isServiceKey(key);
  const path = isService ? service_path : own_path;
  const answer = await askServer({ address: url, key }, { path });
  // A key without the scope for this route is still valid.
  if (answer.status === 403) return 'the owner of the key';
  const refusal = refusalOf(answer, url);
  if (refusal !== undefined) throw refusal;
  if (isService) return `the service key ${JSON.stringify((answer.body as { name: string }).name)}`;
  return (answer.body as { email: string }).email;
}

/** Returns the key that a person types without echo, or the key in standard input. */
async function enteredKey(address: string): Promise<string> {
  if (!process.stdin.isTTY) return readContent('Read the API key from standard input', '-');
  const hidden = new Writable({ write: (_chunk, _encoding, done) => done() });
  process.stderr.write(`API key for ${address} (slk_... or slv_...): `);
  const terminal = createInterface({ input: process.stdin, output: hidden, terminal: true });
  try {
    const closed = new Promise<string>((done) => terminal.once('close', () => done('')));
    const key = (await Promise.race([terminal.question(''), closed])).trim();
    if (key === '') throw new WrongUsageError('No key was given: nothing was changed.');
    return key;
  } finally {
    process.stderr.write('\n');
    terminal.close();
  }
}

/** Returns the name of the user, or the id if there is no name, as in many containers. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.()}`;
  }
}
