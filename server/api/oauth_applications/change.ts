import type { Static } from 'typebox';
import { v7 as uuidv7 } from 'uuid';
import type { Deps } from '../../deps.ts';
import { applicationContext } from '../../engine/plugins/oauth/application.ts';
import { isVendorAddress } from '../../engine/plugins/oauth/addresses.ts';
import { findVendor } from '../../engine/plugins/oauth/vendors.ts';
import { invalid, invalidMany } from '../../platform/http/errors.ts';
import type { Violation } from '../../platform/http/errors.ts';
import { movedSecrets } from '../../platform/http/bodies/moved_secrets.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import type {
  OauthApplicationCreate,
  OauthApplicationPatch,
  OauthApplicationRow,
} from './schema.ts';
import { insertApplication, updateApplication } from './store.ts';

type Sent = Static<typeof OauthApplicationCreate>;
type Changed = Static<typeof OauthApplicationPatch>;

/**
 * Registers the application of the body, with the vendor's default addresses, and returns its id.
 * Throws 400 for a tool without OAuth, and for invalid or missing addresses.
 */
export async function createApplication(
  tx: Transaction,
  { secrets }: Deps,
  organization_id: string,
  { tool, client_id, client_secret, ...sent }: Sent,
): Promise<string> {
  const vendor = findVendor(tool);
  if (vendor === undefined || vendor.way === 'settings')
    throw invalid(
      'tool',
      'invalid_choice',
      'The catalogue has no such tool with an OAuth application.',
    );
  const id = uuidv7();
  const fields = {
    authorize_url: sent.authorize_url ?? vendor.authorize_url,
    token_url: sent.token_url ?? vendor.token_url,
    revoke_url: sent.revoke_url === undefined ? (vendor.revoke_url ?? null) : sent.revoke_url,
    scopes: sent.scopes ?? vendor.scopes ?? '',
    client_auth: sent.client_auth ?? ('post' as const),
    uses_pkce: sent.uses_pkce ?? true,
  };
  const missing = (['authorize_url', 'token_url'] as const).flatMap((attr): Violation[] =>
    fields[attr] === undefined
      ? [{ attr, code: 'required', detail: 'The vendor publishes none: enter the address.' }]
      : [],
  );
  const faults = [...missing, ...wrongAddresses(fields)];
  if (faults.length > 0) throw invalidMany(faults);
  const { authorize_url = '', token_url = '' } = fields;
  const client_secret_sealed = secrets.seal(client_secret, applicationContext(id));
  const stored = { ...fields, authorize_url, token_url, client_id, client_secret_sealed };
  if (!(await insertApplication(tx, { id, organization_id, tool }, stored)))
    throw invalid('tool', 'unique', 'The organization already has an application for this tool.');
  return id;
}

const addresses = ['authorize_url', 'token_url', 'revoke_url'] as const;

function wrongAddresses(fields: Partial<Record<(typeof addresses)[number], string | null>>) {
  return addresses.flatMap((attr): Violation[] => {
    const address = fields[attr] ?? undefined;
    const detail = 'Must be an https address without user, password or fragment.';
    return address === undefined || isVendorAddress(address)
      ? []
      : [{ attr, code: 'invalid_input', detail }];
  });
}

/** Fields that decide who receives the stored secret and the tokens. */
const places = ['client_id', 'token_url', 'revoke_url'] as const;

/**
 * Changes an application under the caller's lock. Throws 400 for invalid addresses, and for a
 * change that would send the stored secret to another place.
 */
export async function changeApplication(
  tx: Transaction,
  { secrets }: Deps,
  before: OauthApplicationRow,
  { client_secret, ...sent }: Changed,
): Promise<void> {
  const after = { ...before, ...sent };
  const moved = movedSecrets(
    { secrets: ['client_secret'], where: places },
    { ...before, client_secret: '*' },
    { ...after, client_secret: '*' },
    { sent: new Set(client_secret === undefined ? [] : ['client_secret']) },
  );
  const faults = [...wrongAddresses(sent), ...moved];
  if (faults.length > 0) throw invalidMany(faults);
  const is_other = [...places, 'authorize_url' as const].some((key) => before[key] !== after[key]);
  const sealed =
    client_secret === undefined
      ? {}
      : { client_secret_sealed: secrets.seal(client_secret, applicationContext(before.id)) };
  await updateApplication(tx, before.id, { ...sent, ...sealed }, is_other);
}
