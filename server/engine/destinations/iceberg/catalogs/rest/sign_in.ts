import { NonRetryableError } from '../../../../model/destination/errors.ts';
import type { CatalogConfig } from '../catalog_config.ts';
import { requireSuccess } from '../request.ts';
import type { Answer, Sendable } from '../request.ts';

/** The authentication of requests: by a fixed token, by one for client credentials, or not. */
export type SignIn = {
  /** True if another token can be requested. */
  renews: boolean;
  headers(renewed: boolean): Promise<Record<string, string>>;
};

/**
 * Opens the authentication of a config. A token for client credentials is requested on first use.
 */
export function openSignIn(
  config: CatalogConfig,
  send: (asked: Sendable) => Promise<Answer>,
): SignIn {
  const { catalog_token: token, catalog_client_id: client_id } = config;
  const bearer = (text: string): Record<string, string> => ({ Authorization: `Bearer ${text}` });
  if (filled(token)) return { renews: false, headers: async () => bearer(token) };
  if (!filled(client_id)) return { renews: false, headers: async () => ({}) };
  let given: Promise<string> | undefined;
  return {
    renews: true,
    headers: async (renewed) => {
      if (renewed || given === undefined) given = askToken(config, send);
      return bearer(
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

function tokenUrl({ catalog_uri, catalog_token_uri }: CatalogConfig): URL {
  if (filled(catalog_token_uri)) return new URL(catalog_token_uri);
  return new URL(`${(catalog_uri ?? '').replace(/\/+$/, '')}/v1/oauth/tokens`);
}

function filled(text: string | null | undefined): text is string {
  return (text ?? '') !== '';
}
