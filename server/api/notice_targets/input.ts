import { hidden_part } from '../../engine/notices/webhook_url.ts';
import type { Violation } from '../../platform/http/errors.ts';
import { OutboundRefused } from '../../platform/outbound/outbound_faults.ts';
import type { Outbound } from '../../platform/outbound/outbound.ts';
import { addressFault } from '../../platform/outbound/plain_address.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { readWebhookSecret } from '../../platform/outbound/standard_webhooks.ts';
import type { NoticeTargetChanges, NoticeTargetRow } from './schema.ts';
import { listKnownExports } from './store.ts';

/**
 * The target of the fields: its project, its type (undefined if the body has no valid one), and
 * whether it is being created and so needs the required fields.
 */
export type Subject = {
  team_id: number;
  type: NoticeTargetRow['type'] | undefined;
  is_new: boolean;
};

/**
 * Returns every violation of rules beyond the schema: fields that each type requires or refuses,
 * the form of url and secret, an unreachable address, and exports of other projects.
 */
export async function wrongFields(
  { db, outbound }: { db: Queryable; outbound: Outbound },
  subject: Subject,
  fields: NoticeTargetChanges,
): Promise<Violation[]> {
  return [
    ...typeViolations(subject, fields),
    ...urlViolations(outbound, fields),
    ...secretViolations(subject, fields),
    ...(await exportViolations(db, subject.team_id, fields)),
  ];
}

/** The fields that a new target of the type must have, and those that it cannot have. */
const type_fields: Record<NoticeTargetRow['type'], { needed: Field; foreign: Field[] }> = {
  email: { needed: 'address', foreign: ['url', 'secret'] },
  webhook: { needed: 'url', foreign: ['address'] },
  slack: { needed: 'url', foreign: ['address', 'secret'] },
  microsoft_teams: { needed: 'url', foreign: ['address', 'secret'] },
  pagerduty: { needed: 'secret', foreign: ['address'] },
};
type Field = 'address' | 'url' | 'secret';

function typeViolations({ type, is_new }: Subject, fields: NoticeTargetChanges): Violation[] {
  if (type === undefined) return [];
  const { needed, foreign } = type_fields[type];
  const missing: Violation[] =
    is_new && fields[needed] === undefined
      ? [{ attr: needed, code: 'required', detail: `A target of type ${type} needs this field.` }]
      : [];
  const empty = (['address', 'url'] as const).filter(
    (name) => fields[name] === null && !foreign.includes(name) && (!is_new || name === needed),
  );
  const strange = foreign.filter((name) => fields[name] !== undefined && fields[name] !== null);
  return [
    ...missing,
    ...empty.map((attr): Violation => ({
      attr,
      code: 'null',
      detail: `A target of type ${type} needs this field: leave it out to keep its value.`,
    })),
    ...strange.map((attr): Violation => ({
      attr,
      code: 'invalid_input',
      detail: `A target of type ${type} does not have this field: leave it out.`,
    })),
  ];
}

function urlViolations(outbound: Outbound, { url }: NoticeTargetChanges): Violation[] {
  const found: Violation[] = [];
  const fault = typeof url === 'string' ? addressFault(url) : undefined;
  if (fault !== undefined) found.push({ attr: 'url', code: 'invalid_input', detail: fault });
  else if (url?.includes(hidden_part) === true)
    found.push({
      attr: 'url',
      code: 'invalid_input',
      detail:
        `Must be the whole address: ${hidden_part} replaces the hidden part. Leave url out to ` +
        'keep the stored address.',
    });
  else if (typeof url === 'string') found.push(...unreachable(outbound, url));
  return found;
}

function secretViolations({ type }: Subject, { secret }: NoticeTargetChanges): Violation[] {
  if (secret === undefined) return [];
  if (type === 'pagerduty')
    return /^[A-Za-z0-9]{32}$/.test(secret)
      ? []
      : [
          {
            attr: 'secret',
            code: 'invalid_input',
            detail:
              'Must be the integration key of Events API v2, 32 letters and digits: copy it from ' +
              'the integrations of your service in PagerDuty.',
          },
        ];
  if (readWebhookSecret(secret) !== undefined) return [];
  const detail = 'Must be whsec_ and 24 to 64 bytes in base64; leave it out to get one.';
  return [{ attr: 'secret', code: 'invalid_input', detail }];
}

/**
 * Lists the faults of an address that are known before sending; its host name is looked up later.
 */
function unreachable(outbound: Outbound, url: string): Violation[] {
  const { hostname } = new URL(url);
  try {
    outbound.checkLiteral(hostname === 'localhost' ? '127.0.0.1' : hostname);
    return [];
  } catch (error) {
    if (!(error instanceof OutboundRefused)) throw error;
    return [{ attr: 'url', code: 'invalid_input', detail: error.message }];
  }
}

async function exportViolations(
  db: Queryable,
  team_id: number,
  { batch_export_ids }: NoticeTargetChanges,
): Promise<Violation[]> {
  if (batch_export_ids === undefined || batch_export_ids === null) return [];
  const known = new Set(await listKnownExports(db, team_id, batch_export_ids));
  return batch_export_ids.flatMap((id, index) =>
    known.has(id.toLowerCase())
      ? []
      : [
          {
            attr: `batch_export_ids__${index}`,
            code: 'invalid_input',
            detail: 'The project has no batch export with this id.',
          } as const,
        ],
  );
}
