import { level_names } from '../../platform/http/caller/access.ts';
import { ApiError, forbiddenMany, invalidMany } from '../../platform/http/errors.ts';
import type { Violation } from '../../platform/http/errors.ts';
import { unstorableIn } from '../../platform/http/bodies/json_text.ts';
import { checked } from '../../platform/http/bodies/validator.ts';
import { attrOf } from '../../platform/http/bodies/violations.ts';
import { withPlainDomain } from '../../platform/mail/mailbox.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import type { Level } from '../members/schema.ts';
import { deactivated_detail } from '../deactivation/store.ts';
import { NewInvite } from './schema.ts';
import { listStandings } from './store.ts';
import type { InviteFields, Standing } from './store.ts';

/** The organization of invites, and the caller's level there. */
export type Place = { organization_id: string; level: Level };

/**
 * An item as it was sent; `prefix` is its place in the body as a JSON pointer, empty when it is the
 * whole body.
 */
export type SentItem = { value: unknown; prefix: string };

/**
 * An item that was read: `fields` where it has the form of an invite, `email` wherever that can be
 * told.
 */
type ReadItem = SentItem & {
  fields: InviteFields | undefined;
  email: string | null;
  violations: Violation[];
};

/**
 * The invites that the items ask for. Throws a 400 that lists every violation of all items (form,
 * the same address twice, an address of a member), and when there are none a 403 for levels above
 * the caller's: those that are asked for, and those of open invites that would be replaced.
 */
export async function checkInvites(
  tx: Transaction,
  { organization_id, level }: Place,
  items: SentItem[],
  now_ms: number,
): Promise<InviteFields[]> {
  const read = items.map(readItem);
  const emails = read.map(({ email }) => email ?? '');
  const standings = await listStandings(tx, organization_id, emails, level, now_ms);
  const wrong = read.flatMap((item, index) => [
    ...item.violations,
    ...(item.email === null ? [] : addressViolations(item, standings[index]!, index)),
  ]);
  if (wrong.length > 0) throw invalidMany(wrong);
  const refused = read.flatMap((item, index) => levelViolations(item, standings[index]!, level));
  if (refused.length > 0) throw forbiddenMany(refused);
  return read.flatMap(({ fields }) => fields ?? []);
}

function readItem({ value, prefix }: SentItem): ReadItem {
  try {
    const {
      target_email,
      first_name = '',
      level = 1,
      message = null,
    } = checked(NewInvite, value, prefix, unstorableIn(value, prefix));
    const email = withPlainDomain(target_email);
    return {
      value,
      prefix,
      fields: { target_email: email, first_name, level, message },
      email,
      violations: [],
    };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const { violations } = error;
    // Faults of other fields leave the address to be looked at.
    const isTold = violations.some(
      ({ attr }) => attr === attrOf(prefix) || attr === attrOf(prefix, 'target_email'),
    );
    // Among very many faults, that of the address may be missing.
    const { target_email } = (value ?? {}) as { target_email?: unknown };
    return {
      value,
      prefix,
      fields: undefined,
      email: isTold || typeof target_email !== 'string' ? null : withPlainDomain(target_email),
      violations,
    };
  }
}

function addressViolations(
  { prefix }: ReadItem,
  { membership, is_taken_out, first_index }: Standing,
  index: number,
): Violation[] {
  const attr = attrOf(prefix, 'target_email');
  const found: Violation[] = [];
  if (membership !== null)
    found.push({ attr, code: 'invalid_input', detail: memberDetail(membership) });
  else if (is_taken_out) found.push({ attr, code: 'invalid_input', detail: deactivated_detail });
  if (first_index < index)
    found.push({
      attr,
      code: 'unique',
      detail: `Item ${first_index} has the same address. Leave one of them out.`,
    });
  return found;
}

/**
 * Why a member is not invited, and what to do instead. A deactivated one stands in no list, so it
 * is said.
 */
export function memberDetail(membership: NonNullable<Standing['membership']>): string {
  return membership === 'active'
    ? 'This person is already a member of the organization.'
    : 'This person is already a member of the organization, but the account is deactivated: ' +
        'have the operator activate it, or remove the member first.';
}

function levelViolations(
  { prefix, fields }: ReadItem,
  { higher_level }: Standing,
  own: Level,
): Violation[] {
  const found: Violation[] = [];
  const code = 'permission_denied';
  const yours = `your level is ${own} (${level_names[own]})`;
  if (fields !== undefined && fields.level > own)
    found.push({
      attr: attrOf(prefix, 'level'),
      code,
      detail: `You can invite up to your own level: ${yours}, not ${fields.level}.`,
    });
  if (higher_level !== null)
    found.push({
      attr: attrOf(prefix, 'target_email'),
      code,
      detail:
        `This address has an open invite with the level ${higher_level}, which only that level ` +
        `replaces: ${yours}.`,
    });
  return found;
}
