import type { Deps } from '../../deps.ts';
import { changesOf } from '../../platform/activity/changes.ts';
import { appendActivity } from '../../platform/activity/chain.ts';
import { isDatabaseError } from '../../platform/postgres/database.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import { inWriteTurn } from '../../platform/http/limits/owner_turns.ts';
import { actorOf, write } from '../../platform/http/write.ts';
import type { Entry } from '../../platform/http/write.ts';
import { domainOf } from '../../platform/mail/mailbox.ts';
import { deleteInvite } from '../invites/store.ts';
import { joinOrganization } from '../members/store.ts';
import { beginningEntry, handOver, startSession } from '../sessions/store.ts';
import type { Browser, Opening } from '../sessions/store.ts';
import { findIdentityById, findUserByEmail, insertUser } from '../users/store.ts';
import type { Identity } from '../users/store.ts';
import { newProviderMail } from './new_provider_mail.ts';
import { SignInRefused } from './refusal.ts';
import { findTrust, getStanding, holdHome, keepIdentity, limitSession } from './store.ts';
import type { Home, Standing } from './store.ts';
import type { Vouched } from './vouched.ts';

type Person = Pick<Identity, 'id' | 'uuid' | 'email' | 'first_name' | 'last_name'>;
type Admission = {
  vouched: Vouched;
  home: Home | undefined;
  account: Identity | undefined;
  standing: Standing;
  joins: boolean;
  is_handed_over: boolean;
  /**
   * True if the account has a second factor that was never shown with this provider's current
   * settings.
   */
  awaits_factor: boolean;
  is_first: boolean;
};
type Place = { deps: Deps; tx: Transaction; browser: Browser };

/**
 * Signs the person in at the browser by the rules of docs/sign_in_rules.md, and makes them a member
 * of the domain's organization. It uses the account of the address, or creates one if the domain
 * makes its people members or an invite is open. `confirm` checks the domain after it was locked.
 * Guarantee: account, membership, session and log are created in one transaction. Throws
 * `SignInRefused`.
 */
export async function signIn(
  deps: Deps,
  { request, reply }: Pick<Browser, 'request' | 'reply'>,
  vouched: Vouched,
  confirm: (home: Home | undefined) => void = () => {},
): Promise<void> {
  const attempt = () =>
    inWriteTurn(domainOf(vouched.email), () =>
      write(request, reply, 200, async (tx, record, afterwards) => {
        const home = await holdHome(tx, deps.config, vouched.email);
        request.concerned = { organization_id: home?.organization.id };
        confirm(home);
        const admission = await look(tx, deps, vouched, home);
        request.concerned = { ...request.concerned, person: admission.account };
        refuse(admission);
        record(await admit({ deps, tx, browser: { request, reply, afterwards } }, admission));
      }),
    );
  try {
    await attempt();
  } catch (error) {
    if (!isDatabaseError(error) || error.constraint !== 'users_email_unique') throw error;
    // Another request created the person's account at the same time, so it exists now.
    await attempt();
  }
}

/**
 * Reads and locks everything that decides the sign-in, until the transaction ends. The organization
 * is locked before the account, as everywhere.
 */
async function look(
  tx: Transaction,
  { clock }: Deps,
  vouched: Vouched,
  home: Home | undefined,
): Promise<Admission> {
  const known = await findUserByEmail(tx, vouched.email);
  const account = known === undefined ? undefined : await findIdentityById(tx, known.id, 'lock');
  // While this waited for its lock, the account may have been deactivated or have got another
  // address.
  if (known !== undefined && account?.address !== vouched.email)
    throw new SignInRefused('inactive', `The account ${vouched.email} is deactivated.`);
  const standing = await getStanding(
    tx,
    { organization_id: home?.organization.id, user_id: account?.id, email: vouched.email },
    clock.now(),
  );
  const trust = await findTrust(tx, account?.id, vouched.identity.provider);
  const may_join =
    !standing.is_member &&
    !standing.is_deactivated &&
    (standing.invite_id !== null || (!standing.is_left && letsIn(home, vouched.method)));
  const is_handed_over =
    account !== undefined && isHandedOver(account, { vouched, home, standing, joins: may_join });
  const awaits_factor =
    vouched.settings_hash !== undefined &&
    account?.has_second_factor === true &&
    !is_handed_over &&
    trust?.settings_hash?.equals(vouched.settings_hash) !== true;
  // Without the factor, this may be another person, so the account's keys must get no new access.
  const joins = may_join && !awaits_factor;
  const is_first = account !== undefined && !is_handed_over && trust === undefined;
  return { vouched, home, account, standing, joins, is_handed_over, awaits_factor, is_first };
}

/**
 * Returns true if the account is given to the person whom the provider vouches for, without its
 * former ways to sign in. The account then belongs to no other organization, so an earlier owner of
 * the address may still know its password. Or the domain admits people only by this provider, so
 * nothing else can verify the address. This never removes a second factor of a verified account, or
 * of an account with another organization, whose keys and sessions are in use there.
 */
function isHandedOver(
  { is_email_verified, has_second_factor }: Identity,
  { vouched, home, standing, joins }: Pick<Admission, 'vouched' | 'home' | 'standing' | 'joins'>,
): boolean {
  if (joins && !standing.is_anywhere) return !(is_email_verified && has_second_factor);
  const is_enforced = home?.domain.sso_enforcement === vouched.method;
  return is_enforced && !is_email_verified && !standing.is_member && !has_second_factor;
}

/**
 * Returns true if the domain makes its people members. A domain with its own provider leaves that
 * to this provider, unless it names another.
 */
function letsIn(home: Home | undefined, method: Vouched['method']): boolean {
  if (home === undefined || !home.domain.jit_provisioning_enabled) return false;
  return method === 'saml' || home.domain.sso_enforcement === method || !home.domain.has_saml;
}

/** Returns true if the domain's organization accepts this provider of the operator. */
function isAccepted(home: Home | undefined, method: Vouched['method']): boolean {
  return letsIn(home, method) || home?.domain.sso_enforcement === method;
}

/**
 * Throws if the person may not sign in. A stranger who created an account with this address may
 * still know its password. So an unverified account is admitted only if it has been before, if it
 * is a member of the domain's organization, or without its former ways to sign in.
 */
function refuse({ vouched, home, account, standing, ...found }: Admission): void {
  const { joins, is_handed_over, awaits_factor } = found;
  const { email, method } = vouched;
  const enforced = home?.domain.sso_enforcement ?? '';
  const isExpected = joins || awaits_factor || standing.is_awaited;
  if (enforced !== '' && enforced !== method)
    throw new SignInRefused(
      'sso_enforced',
      `The domain of ${email} requires sign-ins through ${enforced}.`,
    );
  if (!isExpected && standing.is_left)
    throw new SignInRefused(
      'deactivated',
      `Another person in the directory of ${home?.domain.domain} had the address ${email} ` +
        'before, so nobody joins with it automatically. Create the person in the directory, or ' +
        'invite them.',
    );
  if (account === undefined && (home === undefined || !isExpected))
    throw new SignInRefused(
      'no_account',
      `There is no account with the address ${email}, no open invite, and no domain that ` +
        'makes its people members.',
    );
  if (account?.is_email_verified === false && !standing.is_member && !is_handed_over)
    throw new SignInRefused(
      'account_unverified',
      `The address of the account ${email} was never verified: ask the person to verify it, ` +
        'or to accept an invite first.',
    );
  if (standing.is_deactivated)
    throw new SignInRefused(
      'deactivated',
      `The directory of ${home?.domain.domain} has deactivated ${email}: activate the person ` +
        'there.',
    );
  if (!isExpected)
    throw new SignInRefused(
      'not_a_member',
      `The account ${email} is in no organization, has no open invite, and its domain does ` +
        'not make its people members.',
    );
}

async function admit(place: Place, admission: Admission): Promise<Entry> {
  const { deps, tx, browser } = place;
  const { vouched, home, account, joins, is_handed_over, is_first } = admission;
  if (account !== undefined && is_handed_over) {
    const { id: user_id, uuid: user_uuid, email } = account;
    const actor = actorOf(browser.request, { user_id, user_uuid, email });
    await handOver(tx, deps.secrets, actor, account);
  }
  const person = account ?? (await signUp(tx, vouched));
  await keepIdentity(tx, deps.clock.now(), person.id, vouched.identity);
  if (home !== undefined && joins) await join(place, home, person, admission);
  if (is_first && deps.mail.is_configured)
    await deps.outbox.post({ tx, afterwards: browser.afterwards }, [
      { message: newProviderMail(person.email, vouched.method, home) },
    ]);
  const session = await startSession(tx, browser, person, openingOf(admission));
  const expires_at =
    vouched.session_ends_at === undefined
      ? session.expires_at
      : await limitSession(tx, session.id, vouched.session_ends_at);
  return beginningEntry(person, { ...session, expires_at }, { identity: vouched.identity });
}

/**
 * Returns the reach of the session: an organization's own provider opens only the organizations
 * that accept it. The operator's provider counts like a password, so it opens the whole account if
 * that has no second factor.
 */
function openingOf({ vouched, home, account, ...found }: Admission): Opening {
  const { method, settings_hash } = vouched;
  const { is_handed_over, awaits_factor } = found;
  const is_accepted = method === 'saml' || isAccepted(home, method);
  const has_second_factor = account?.has_second_factor === true && !is_handed_over;
  return {
    method,
    shows_own_factor: method !== 'saml' && !has_second_factor,
    domain_id: is_accepted ? (home?.domain.id ?? null) : null,
    settings_hash: settings_hash ?? null,
    awaits_factor,
  };
}

/** Creates an account without a password; the provider has verified the address. */
async function signUp(
  tx: Transaction,
  { email, first_name = '', last_name = '' }: Vouched,
): Promise<Person> {
  const fields = { email, first_name, last_name };
  const proven = { ...fields, password_hash: null, is_email_verified: true };
  const { id, uuid } = await insertUser(tx, proven);
  return { id, uuid, ...fields };
}

/**
 * Makes the person a member of the domain's organization, with the level of their invite, and
 * records it in its log. The write itself records the session in the person's own log.
 */
async function join(
  { deps, tx, browser }: Place,
  { domain, organization }: Home,
  person: Person,
  { vouched, standing }: Admission,
): Promise<void> {
  const { invite_id, invite_level } = standing;
  const { id, uuid, email } = person;
  const level = invite_level ?? 1;
  const name = `${person.first_name} ${person.last_name}`.trim();
  await joinOrganization(
    deps,
    { tx, afterwards: browser.afterwards },
    organization,
    { id, email, name },
    level,
  );
  if (invite_id !== null) await deleteInvite(tx, invite_id);
  const changes = changesOf(undefined, {
    level,
    invite_id,
    method: vouched.method,
    domain: domain.domain,
  });
  const actor = actorOf(browser.request, { user_id: id, user_uuid: uuid, email });
  const joined = { activity: 'joined', scope: 'member', item_id: uuid, item_name: email, changes };
  await appendActivity(tx, deps.secrets, { organization_id: organization.id }, actor, joined);
}
