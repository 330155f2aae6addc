import type { DestinationDeps } from '../../../../model/destination/destination.ts';
import { NonRetryableError } from '../../../../model/destination/errors.ts';
import type { S3Place } from '../../../object_store/s3_place.ts';
import { openSigner } from '../aws_signer.ts';
import type { Signer } from '../aws_signer.ts';
import { catalogUri } from '../catalog_config.ts';
import type { CatalogConfig } from '../catalog_config.ts';
import { requireSuccess } from '../request.ts';
import type { Answer, Sendable } from '../request.ts';

/**
 * The authentication of requests: by a fixed token, by one for client credentials, by AWS keys, or
 * not.
 */
export type SignIn = {
  sign: Signer;
  /** Returns true for a refusal after which renewed credentials may help. */
  isExpired?(answer: Answer): boolean;
};

/**
 * Opens the authentication of a config. A token for client credentials is requested on first use.
 */
export function openSignIn(
  config: CatalogConfig,
  deps: DestinationDeps,
  send: (asked: Sendable) => Promise<Answer>,
): SignIn {
  const { catalog_token: token, catalog_client_id: client_id, catalog_signing_name } = config;
  if (filled(catalog_signing_name))
    return {
      sign: openSigner(config as unknown as S3Place, catalog_signing_name, deps),
      isExpired: ({ status, said }) => status === 403 && /\bexpired\b/i.test(said),
    };
  const bearer = (asked: Sendable, text: string): Sendable => ({
    ...asked,
    headers: { Authorization: `Bearer ${text}` },
  });
  if (filled(token)) return { sign: async (asked) => bearer(asked, token) };
  if (!filled(client_id)) return { sign: async (asked) => asked };
  let given: Promise<string> | undefined;
  return {
    isExpired: ({ status }) => status === 401 || status === 419,
    sign: async (asked, renewed) => {
      if (renewed === true || given === undefined) given = askToken(config, send);
      return bearer(
        asked,
        await given.catch((error: unknown) => {
          given = undefined;
          throw error;
        }),
      );
    },
  };
}

async function askToken(
  config: CatalogConfig,
  send: (asked: Sendable) => Promise<Answer>,
): Promise<string> {
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: config.catalog_client_id ?? '',
    client_secret: config.catalog_client_secret ?? '',
    ...(filled(config.catalog_scope) ? { scope: config.catalog_scope } : {}),
  });
  const answer = await send({
    method: 'POST',
    url: tokenUrl(config),
    headers: { Accept: 'application/json' },
    body: form.toString(),
    type: 'application/x-www-form-urlencoded',
  });
  if (answer.status >= 400 && answer.status < 500 && answer.status !== 429)
    throw new NonRetryableError(
      'authentication_failed',
      `The catalog gives no token for catalog_client_id: it answered ${answer.status}` +
        `${answer.said === '' ? '' : ` (${answer.said})`}. Check catalog_client_id, ` +
        'catalog_client_secret, catalog_scope and catalog_token_uri.',
    );
  const { access_token: token } = requireSuccess(answer);
  if (typeof token !== 'string' || token === '')
    throw new NonRetryableError(
      'authentication_failed',
      'The answer to the request for a token has no access_token. Check catalog_token_uri.',
    );
  return token;
}

function tokenUrl(config: CatalogConfig): URL {
  const { catalog_token_uri: uri } = config;
  return new URL(filled(uri) ? uri : `${catalogUri(config)}/v1/oauth/tokens`);
}

function filled(text: string | null | undefined): text is string {
  return (text ?? '') !== '';
}
