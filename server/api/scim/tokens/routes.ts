import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Deps } from '../../../deps.ts';
import { changesOf } from '../../../platform/activity/changes.ts';
import { isoInstant } from '../../../platform/clock.ts';
import { personOf, uuidParameter } from '../../../platform/http/caller/access.ts';
import { maskApiKey } from '../../../platform/http/caller/api_key.ts';
import { beginBody } from '../../../platform/http/bodies/body.ts';
import { wrongExpiry } from '../../../platform/http/bodies/expiry.ts';
import { invalid, missing } from '../../../platform/http/errors.ts';
import { ifMatch } from '../../../platform/http/etag.ts';
import { isValidateOnly } from '../../../platform/http/lists/query.ts';
import type { Entry } from '../../../platform/http/write.ts';
import { addList, addWrite } from '../../../platform/http/records.ts';
import type { Queryable } from '../../../platform/postgres/database.ts';
import { tellOwners } from '../../organizations/store.ts';
import { baseUrl, hashOf } from '../calling.ts';
import { changing, directory_url, placeOf, reading } from '../managed.ts';
import type { ManagedPlace } from '../managed.ts';
import { NewToken, Token, TokenCreate } from '../schema.ts';
import type { TokenRow } from '../schema.ts';
import { insertDirectory } from '../store.ts';
import type { DomainPlace } from '../store.ts';
import { tokenCreated, tokenRevoked } from '../told.ts';
import { createToken } from './token.ts';
import { countLiveTokens, deleteToken, findToken, insertToken, listTokens } from './store.ts';

const list = `${directory_url}tokens/`;
const one = `${list}:token_id/`;
/** Two, so that the directory can get a new token while the current one works. */
const tokens_max = 2;
const day_ms = 24 * 3_600_000;
const days_usual = 365;
const days_max = 731;

/** Routes of a directory's tokens: list, create, retrieve, revoke. */
export function tokenRoutes(app: FastifyInstance, deps: Deps): void {
  readRoutes(app, deps);
  createRoute(app, deps);
  addWrite(app, {
    method: 'DELETE',
    url: one,
    config: changing,
    summary: 'Revoke a token of a directory at once',
    description: 'The directory keeps its groups and its records of people.',
    response: { 204: { type: 'null' } },
    work: async ({ request, tx, record, afterwards }) => {
      const place = await placeOf(tx, request, 'lock');
      const before = await tokenOf(tx, request, place, 'lock');
      ifMatch(request, before);
      await deleteToken(tx, before.id);
      record(entryOf(place, before, undefined));
      const said = tokenRevoked(place.domain, before, personOf(request).email);
      await tellOwners(deps, { tx, afterwards }, place.organization.id, said);
    },
  });
}

function readRoutes(app: FastifyInstance, { db }: Deps): void {
  addList(app, {
    url: list,
    config: reading,
    summary: 'List the tokens of a directory, newest first',
    description: 'Includes expired tokens, until the next one is created.',
    answer: Token,
    rows: async (request) => {
      const { domain_id, organization } = await placeOf(db, request);
      return listTokens(domain_id, organization.id);
    },
  });
  app.get(
    one,
    {
      config: reading,
      schema: { summary: 'Retrieve a token of a directory', response: { 200: Token } },
    },
    async (request) => tokenOf(db, request, await placeOf(db, request)),
  );
}

function createRoute(app: FastifyInstance, deps: Deps): void {
  addWrite(app, {
    url: list,
    config: { ...changing, no_store: true },
    summary: 'Create a token of a directory, which switches the directory on',
    description:
      'The token is shown once. Two tokens work at a time, so you can replace one without ' +
      'a gap. A token ends when you are no longer an owner. 400 `verification_required` ' +
      'for a domain that is not verified.',
    body: TokenCreate,
    response: { 201: NewToken },
    work: async ({ request, tx, record, afterwards }) => {
      const place = await placeOf(tx, request, 'lock');
      const now = deps.clock.now();
      const { name, expires_at = isoInstant(now + days_usual * day_ms) } = tokenBody(request, now);
      refuseUnproved(place);
      await insertDirectory(tx, place.domain_id);
      refuseTooMany(await countLiveTokens(tx, place, now));
      const token = createToken();
      const created = await insertToken(
        tx,
        place,
        {
          name,
          maker_id: personOf(request).user_id,
          hash: hashOf(deps.secrets, token),
          mask_value: maskApiKey(token),
        },
        { created_at: isoInstant(now), expires_at },
      );
      record(entryOf(place, undefined, created));
      const said = tokenCreated(place.domain, created, personOf(request).email);
      await tellOwners(deps, { tx, afterwards }, place.organization.id, said);
      const shown = { ...created, base_url: baseUrl(deps.config, place.domain_id) };
      return isValidateOnly(request) ? shown : { ...shown, token };
    },
  });
}

function tokenBody(request: FastifyRequest, now_ms: number) {
  const { sent, endWith } = beginBody(request, TokenCreate);
  return endWith(wrongExpiry(sent['expires_at'], now_ms, days_max));
}

function refuseUnproved({ is_verified }: ManagedPlace): void {
  if (is_verified) return;
  throw invalid(
    null,
    'verification_required',
    'The directory manages the addresses of the domain, so the domain must be verified ' +
      'first: start the check of its TXT record.',
  );
}

function refuseTooMany(live: number): void {
  if (live < tokens_max) return;
  throw invalid(
    null,
    'max_items',
    `The directory has ${live} tokens that work, and ${tokens_max} is the most: revoke the one ` +
      'that it no longer uses, then try again.',
  );
}

/** Returns the token of the path; throws 404 if it does not exist. */
async function tokenOf(
  db: Queryable,
  request: FastifyRequest,
  place: DomainPlace,
  lock?: 'lock',
): Promise<TokenRow> {
  return (await findToken(db, place, uuidParameter(request, 'token_id'), lock)) ?? missing();
}

function entryOf(
  { domain }: DomainPlace,
  before: TokenRow | undefined,
  after: TokenRow | undefined,
): Entry {
  const { id, name } = (after ?? before)!;
  const said = (row: TokenRow | undefined) =>
    row === undefined
      ? undefined
      : {
          domain,
          mask_value: row.mask_value,
          expires_at: row.expires_at,
          created_by: (row.created_by as { email: string } | null)?.email ?? null,
        };
  return {
    activity: after === undefined ? 'deleted' : 'created',
    scope: 'scim_token',
    item_id: id,
    item_name: name,
    changes: changesOf(said(before), said(after)),
  };
}
