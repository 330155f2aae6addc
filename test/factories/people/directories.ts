import { randomUUID } from 'node:crypto';
import sql from 'sql-template-tag';
import type { DomainRow } from '../../../server/api/domains/schema.ts';
import type { Answer, Harness, TestOrganization } from '../../harness.ts';

/** An object in the answers to a directory: a person or a group. */
export type Resource = { id: string; [name: string]: any };

/** An organization with a verified domain and its directory. */
export type TestDirectory = TestOrganization & {
  domain: DomainRow;
  token: string;
  token_id: string;
  /** The address where people manage it. */
  url: string;
  /** Sends a request of the directory; `path` follows its base URL. */
  scim(method: string, path: string, body?: unknown, token?: string): Promise<Answer>;
  /**
   * Provisions a person with this local part of their address; fails for another status than 201.
   */
  provision(name: string, more?: object): Promise<Resource>;
  /** A person's level in the organization; undefined if they are no member. */
  levelOf(email: string): Promise<number | undefined>;
  /** The newest entries of the organization's log: the action and the person. */
  entries(count: number): Promise<string[]>;
};

/** Opens a directory at a new domain. */
export async function newDirectory(
  harness: Harness,
  home?: TestOrganization,
): Promise<TestDirectory> {
  const own = home ?? (await harness.newOrganization());
  const name = `d${randomUUID().slice(0, 8)}.example`;
  const base = `/api/organizations/${own.organization.id}/domains/`;
  const claimed = await own.ask('POST', base, { domain: name });
  const domain = claimed.body as DomainRow;
  await harness.deps.db.run(sql`UPDATE domains SET state = 'verified' WHERE id = ${domain.id}`);
  const url = `${base}${domain.id}/scim/`;
  const { body } = await own.ask('POST', `${url}tokens/`, { name: 'Test' });
  const scim: TestDirectory['scim'] = (method, path, sent, token = body.token) =>
    harness.request(method, `/scim/v2/${domain.id}${path}`, {
      key: token,
      body: sent,
      headers: { 'content-type': 'application/scim+json; charset=utf-8' },
    });
  return {
    ...own,
    domain,
    url,
    token: body.token,
    token_id: body.id,
    scim,
    provision: async (local, more = {}) => {
      const answer = await scim('POST', '/Users', { userName: `${local}@${name}`, ...more });
      if (answer.status !== 201) throw new Error(`${answer.status} ${answer.text}`);
      return answer.body as Resource;
    },
    levelOf: async (email) => {
      const row = await harness.deps.db.row<{ level: number }>(sql`
        SELECT level FROM members m JOIN users u ON u.id = m.user_id
        WHERE m.organization_id = ${own.organization.id}::uuid AND u.email = ${email}`);
      return row?.level;
    },
    entries: async (count) => {
      const found = await harness.deps.db.rows<{ said: string }>(sql`
        SELECT activity || ' ' || scope || ' ' || coalesce(item_name, '') AS said FROM activity
        WHERE chain_id = ${own.organization.id}::uuid ORDER BY number DESC LIMIT ${count}`);
      return found.map(({ said }) => said);
    },
  };
}

/** The body of a PATCH. */
export function patchOf(...operations: object[]) {
  return {
    schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
    Operations: operations,
  };
}
