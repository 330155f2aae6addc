import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import { isServiceKey } from '../../platform/http/caller/api_key.ts';
import {
  createExchangedToken,
  isExchangedToken,
  openExchangedToken,
} from '../../platform/http/caller/exchanged_token.ts';
import { ApiError, notedAs, throttled } from '../../platform/http/errors.ts';
import { OAuthRefused, oauthForm, oauthRoute } from '../../platform/http/oauth_answers.ts';

const lives_seconds = 3_600;
const access_token = 'urn:ietf:params:oauth:token-type:access_token';
const exchange = 'urn:ietf:params:oauth:grant-type:token-exchange';
const basic = /^Basic +([A-Za-z0-9+/=]+) *$/i;

/**
 * Route `/iceberg/v1/oauth/tokens`: a client exchanges an API key as its `client_secret`, or a
 * valid token, for a token of an hour.
 */
export function tokenRoute(app: FastifyInstance, deps: Deps): void {
  const route = oauthRoute();
  app.post(
    '/iceberg/v1/oauth/tokens',
    { ...route, config: { ...route.config, takes_tokens: true } },
    async (request) => {
      const shown = shownBy(request);
      await requireValid(request, shown);
      const { secrets, clock } = deps;
      const credential = isExchangedToken(shown)
        ? openExchangedToken(secrets, shown, clock.now())!
        : ({
            kind: isServiceKey(shown) ? 'service_key' : 'key',
            hash: secrets.hash(shown),
          } as const);
      const expires_at_ms = clock.now() + lives_seconds * 1_000;
      return {
        access_token: createExchangedToken(secrets, credential, expires_at_ms),
        token_type: 'bearer',
        expires_in: lives_seconds,
        issued_token_type: access_token,
      };
    },
  );
}

/**
 * Returns the key or token of the form; a client may also send its secret in the header of HTTP
 * Basic.
 */
function shownBy(request: FastifyRequest): string {
  const form = oauthForm(request);
  const header = basic.exec(request.headers.authorization ?? '')?.[1];
  const in_header =
    header === undefined
      ? undefined
      : Buffer.from(header, 'base64').toString('utf8').split(':').slice(1).join(':');
  const grant = form.get('grant_type');
  if (grant !== 'client_credentials' && grant !== exchange)
    throw new OAuthRefused(
      'unsupported_grant_type',
      'The grant_type must be client_credentials, or token exchange.',
    );
  const shown =
    grant === exchange ? form.get('subject_token') : (form.get('client_secret') ?? in_header);
  if (shown === undefined || shown === '')
    throw new OAuthRefused(
      'invalid_request',
      'Send an API key as client_secret; the client_id may be any text.',
    );
  return shown;
}

/** Throws unless this request may use the key or token; wrong ones are counted. */
async function requireValid(request: FastifyRequest, shown: string): Promise<void> {
  const { server } = request;
  request.headers.authorization = `Bearer ${shown}`;
  try {
    await server.findCaller(request);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status >= 500) throw error;
    const wait_seconds = server.limiter.takeRefused(request.ip);
    throw wait_seconds === undefined
      ? error
      : notedAs(throttled(wait_seconds), 'locked_out', 'refused_keys');
  }
}
