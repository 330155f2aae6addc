import type { Deps } from '../../deps.ts';
import { changesOf } from '../../platform/activity/changes.ts';
import { appendActivity, server_actor } from '../../platform/activity/chain.ts';
import type { OpenidProvider } from '../../platform/openid_providers.ts';
import { isDatabaseError } from '../../platform/postgres/database.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import { write } from '../../platform/http/write.ts';
import type { Entry } from '../../platform/http/write.ts';
import { deleteInvite } from '../invites/store.ts';
import { joinOrganization } from '../members/store.ts';
import { startSession } from '../sessions/store.ts';
import type { Browser } from '../sessions/store.ts';
import { findIdentityById, findUserByEmail, insertUser, updateUser } from '../users/store.ts';
import type { Identity } from '../users/store.ts';
import { SignInRefused } from './refusal.ts';
import { sessionEntry } from './session_entry.ts';
import { getStanding, holdHome, keepIdentity, limitSession } from './store.ts';
import type { Home, Standing } from './store.ts';

/** Whom a provider signed in: `email` is the address that it vouches for, `identity` the account there, `method` what the session says of how the
 * person signed in, `session_ends_at` when it has to end at the latest (ISO instant). */
export type Vouched = {
  method: 'saml' | OpenidProvider;
  identity: { provider: string; subject: string };
  email: string;
  first_name?: string;
  last_name?: string;
  session_ends_at?: string;
};

type Person = Pick<Identity, 'id' | 'uuid' | 'email' | 'first_name' | 'last_name'>;
type Admission = { vouched: Vouched; home: Home | undefined; standing: Standing; joins: boolean };
type Place = { deps: Deps; tx: Transaction; browser: Browser };

/**
 * Signs the person in at the browser by the rules of docs/single_sign_on.md: with the account of the address, or a new one where the domain makes its people members or an invite is open; and makes him a
 * member of the domain's organization. `confirm` looks at the domain once it can no longer change. Guarantee: account, membership, session and log come together or not at all. Throws `SignInRefused`.
 */
export async function signIn(
  deps: Deps,
  { request, reply }: Pick<Browser, 'request' | 'reply'>,
  vouched: Vouched,
  confirm: (home: Home | undefined) => void = () => {},
): Promise<void> {
  const attempt = () =>
    write(request, reply, 200, async (tx, record, afterwards) => {
      const home = await holdHome(tx, deps.config, vouched.email);
      confirm(home);
      record(await admit({ deps, tx, browser: { request, reply, afterwards } }, await judge(tx, deps, vouched, home)));
    });
  try {
    await attempt();
  } catch (error) {
    if (!isDatabaseError(error) || error.constraint !== 'users_email_unique') throw error;
    // Somebody made the person's account at the same time; now it is there.
    await attempt();
  }
}

/** Whether the person may come in, and joins. */
async function judge(tx: Transaction, { clock }: Deps, vouched: Vouched, home: Home | undefined): Promise<Admission> {
  const enforced = home?.domain.sso_enforcement ?? '';
  if (enforced !== '' && enforced !== vouched.method)
    throw new SignInRefused('sso_enforced', `The domain of ${vouched.email} asks for sign-ins through ${enforced}.`);
  const standing = await getStanding(tx, home?.organization.id ?? null, vouched.email, clock.now());
  const joins = !standing.is_member && (standing.invite_id !== null || letsIn(home, vouched.method));
  return { vouched, home, standing, joins };
}

/** Does the domain make its people members? A domain with a provider of its own leaves that to this one, unless it names another. */
function letsIn(home: Home | undefined, method: Vouched['method']): boolean {
  if (home === undefined || !home.domain.jit_provisioning_enabled) return false;
  return method === 'saml' || home.domain.sso_enforcement === method || !home.domain.has_saml;
}

async function admit({ deps, tx, browser }: Place, admission: Admission): Promise<Entry> {
  const { vouched, home, standing, joins } = admission;
  const known = await findUserByEmail(tx, vouched.email);
  const person = known === undefined ? await signUp(tx, admission) : await holdAccount(tx, known.id, admission);
  await keepIdentity(tx, deps.clock.now(), person.id, vouched.identity);
  if (home !== undefined && joins) {
    const { organization } = home;
    const level = standing.invite_level ?? 1;
    const name = `${person.first_name} ${person.last_name}`.trim();
    await joinOrganization(deps, { tx, afterwards: browser.afterwards }, organization, { id: person.id, email: person.email, name }, level);
    if (standing.invite_id !== null) await deleteInvite(tx, standing.invite_id);
    const changes = changesOf(undefined, { level, invite_id: standing.invite_id, method: vouched.method, domain: home.domain.domain });
    const by = {
      ...server_actor,
      user_id: person.id,
      user_uuid: person.uuid,
      user_email: person.email,
      ip: browser.request.ip,
      request_id: browser.request.id,
    };
    const joined = { activity: 'joined', scope: 'member', item_id: person.uuid, item_name: person.email, changes };
    // The organization is told as well; what the write records is the session, in the person's own chain.
    await appendActivity(tx, deps.secrets, { organization_id: organization.id }, by, joined);
  }
  const session = await startSession(tx, browser, person, vouched.method);
  const expires_at = vouched.session_ends_at === undefined ? session.expires_at : await limitSession(tx, session.id, vouched.session_ends_at);
  return sessionEntry(person, { ...session, expires_at }, { identity: vouched.identity });
}

/** A new account without a password; the provider has proved the address. */
async function signUp(tx: Transaction, { vouched, home, standing, joins }: Admission): Promise<Person> {
  if (!joins && (home === undefined || !standing.is_awaited))
    throw new SignInRefused(
      'no_account',
      `There is no account with the address ${vouched.email}, no open invite, and its domain does not make its people members.`,
    );
  const { email, first_name = '', last_name = '' } = vouched;
  const { id, uuid } = await insertUser(tx, { email, password_hash: null, first_name, last_name });
  await updateUser(tx, id, { is_email_verified: true });
  return { id, uuid, email, first_name, last_name };
}

/**
 * The account with the address, held until the transaction ends. Whoever gave himself this address without proof may still know the account's password, so an unverified account is let in only where it
 * has been before: as a member of the domain's organization.
 */
async function holdAccount(tx: Transaction, id: number, { vouched, standing, joins }: Admission): Promise<Person> {
  const { email } = vouched;
  const account = await findIdentityById(tx, id, 'lock');
  if (account === undefined) throw new SignInRefused('inactive', `The account ${email} is deactivated.`);
  if (!standing.is_member && !account.is_email_verified)
    throw new SignInRefused(
      'account_unverified',
      `The address of the account ${email} was never verified: let the person verify it, or accept an invite, and sign in then.`,
    );
  if (!joins && !standing.is_awaited)
    throw new SignInRefused('not_a_member', `The account ${email} is in no organization, has no open invite, and its domain does not make its people members.`);
  return account;
}
