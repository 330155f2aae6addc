import { randomBytes } from 'node:crypto';
import type { Deps } from '../../../deps.ts';
import { isFields } from '../../../platform/fields.ts';
import { invalid } from '../../../platform/http/errors.ts';
import { isLineOfText } from '../../../platform/line_of_text.ts';
import { OAuthRefused } from '../../../platform/http/oauth_answers.ts';
import { isSayable } from '../../../platform/outbound/outbound_faults.ts';
import { readBounded } from '../../../platform/read_bounded.ts';
import { isRedirectUri, placeOf } from './redirect_uris.ts';
import { openSelfSaid, selfSaid } from './self_said.ts';

const prefix = 'slc_';
const name_characters_max = 100;
const uris_max = 10;
/** The browser sends the id in an address, also through single sign-on. */
const described_characters_max = 700;
const document_bytes_max = 16 * 1024;
const document_seconds_max = 5;

/** The assistant's description of itself. */
export type Client = {
  name: string;
  /** The host of the document with the description; null: the client registered itself. */
  host: string | null;
  redirect_uris: string[];
};

type Described = Pick<Client, 'name' | 'redirect_uris'>;

/**
 * Returns an id that contains the client's registration (RFC 7591). Nothing is stored, so nothing
 * needs a limit or an expiry.
 */
export function registerClient(
  { secrets }: Pick<Deps, 'secrets'>,
  metadata: unknown,
): Described & { client_id: string } {
  const described = describedBy(metadata);
  // Two installations of a program are two clients.
  const own = randomBytes(9).toString('base64url');
  const text = JSON.stringify([described.name, described.redirect_uris, own]);
  if (text.length > described_characters_max)
    throw new OAuthRefused(
      'invalid_client_metadata',
      `Name and redirect_uris have at most ${described_characters_max} characters together.`,
    );
  return { ...described, client_id: selfSaid(secrets, prefix, text) };
}

/**
 * Returns the client of an id: one that registered itself, or one described by the document at an
 * address. Throws 400 for any other id. A document is fetched through the outbound guard, without
 * redirects.
 */
export async function findClient(
  deps: Pick<Deps, 'secrets' | 'outbound'>,
  client_id: string,
): Promise<Client> {
  try {
    if (client_id.startsWith('https://')) return await fetchClient(deps, client_id);
    const said = openSelfSaid(deps.secrets, prefix, client_id);
    const [name, redirect_uris] = JSON.parse(said ?? '') as [string, string[]];
    return { name, redirect_uris, host: null };
  } catch (error) {
    const why =
      error instanceof OAuthRefused || isSayable(error)
        ? error.message
        : 'Sluice does not know this client: remove the connection in the assistant, and add it ' +
          'again.';
    throw invalid('client_id', 'invalid_input', why);
  }
}

async function fetchClient(
  { outbound }: Pick<Deps, 'outbound'>,
  client_id: string,
): Promise<Client> {
  const url = URL.parse(client_id);
  if (url === null || url.href !== client_id || url.pathname === '/' || /[#@]/.test(client_id))
    throw refused('The id of the client must be a plain https address with a path.');
  const response = await outbound
    .fetch(url, {
      redirect: 'error',
      headers: { accept: 'application/json' },
      signal: AbortSignal.timeout(document_seconds_max * 1_000),
    })
    .catch((error: unknown) => {
      throw isSayable(error) ? error : refused(`${url.host} does not answer.`);
    });
  const tooLarge = () => refused(`The document has more than ${document_bytes_max} bytes.`);
  const bytes = await readBounded(response.body ?? [], document_bytes_max, tooLarge);
  if (response.status !== 200) throw refused(`${url.host} answered ${response.status}.`);
  const metadata = parsed(bytes);
  if (!isFields(metadata) || metadata['client_id'] !== client_id)
    throw refused('The document at the address of the client does not name that address.');
  return { ...describedBy(metadata), host: url.host };
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}

/** Throws for metadata that this server does not support; ignores unknown fields. */
function describedBy(metadata: unknown): Described {
  if (!isFields(metadata)) throw refused('Send an object with redirect_uris.');
  const { redirect_uris, client_name, grant_types, token_endpoint_auth_method } = metadata;
  if (
    !Array.isArray(redirect_uris) ||
    redirect_uris.length === 0 ||
    redirect_uris.length > uris_max ||
    !redirect_uris.every(isRedirectUri)
  )
    throw new OAuthRefused(
      'invalid_redirect_uri',
      `Send 1 to ${uris_max} redirect_uris: https addresses, http addresses of this ` +
        'computer, or schemes with a domain in their names.',
    );
  if (Array.isArray(grant_types) && !grant_types.includes('authorization_code'))
    throw refused('Only the flow authorization_code is supported.');
  if (token_endpoint_auth_method === 'private_key_jwt')
    throw refused('Only public clients are supported: token_endpoint_auth_method must be none.');
  const name = typeof client_name === 'string' ? client_name.trim() : '';
  if (name.length > name_characters_max || !isLineOfText(name))
    throw refused(`The client_name must be one line of at most ${name_characters_max} characters.`);
  return { name: name === '' ? placeOf(redirect_uris[0] as string) : name, redirect_uris };
}

function refused(detail: string): OAuthRefused {
  return new OAuthRefused('invalid_client_metadata', detail);
}
