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

/** The organization of the invites, and the caller's level there. */
export type Place = { organization_id: string; level: Level };

/**
 * An item as sent; `prefix` is its place in the body as a JSON pointer, empty if it is the whole
 * body.
 */
export type SentItem = { value: unknown; prefix: string };

/** A parsed item: `fields` if it is a valid invite, `email` if the address is readable. */
type ReadItem = SentItem & {
  fields: InviteFields | undefined;
  email: string | null;
  violations: Violation[];
};

/**
 * Returns the invites of the items. Throws one 400 that lists every violation of all items (form,
 * repeated address, address of a member). Without one, throws 403 for levels above the caller's, in
 * the items or in open invites that they would replace.
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
    // The address can be checked despite faults in other fields.
    const isTold = violations.some(
      ({ attr }) => attr === attrOf(prefix) || attr === attrOf(prefix, 'target_email'),
    );
    // If there are very many faults, the fault of the address may be missing.
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
 * Returns why a member is not invited, and what to do instead. The lists omit deactivated members,
 * so the text mentions the deactivation.
 */
export function memberDetail(membership: NonNullable<Standing['membership']>): string {
  return membership === 'active'
    ? 'This person is already a member of the organization.'
    : 'This person is already a member of the organization, but the account is ' +
        'deactivated: ask the operator to activate it, or remove the member first.';
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
        `This address has an open invite with the level ${higher_level}, which only that ` +
        `level can replace: ${yours}.`,
    });
  return found;
}
