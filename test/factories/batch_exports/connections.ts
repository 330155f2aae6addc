import assert from 'node:assert/strict';
import type { TestOrganization } from '../../harness.ts';

/** The keys of a connection to a database, with a password that must stay invisible. */
export const database_keys = {
  host: 'db.example.com',
  database: 'analytics',
  user: 'writer',
  password: 'pl4nted-word',
};

/** The URL of the list of an organization's connections. */
export const connectionsBase = (home: TestOrganization) =>
  `/api/organizations/${home.organization.id}/connections/`;

/** Creates a connection to a PostgreSQL server through the API and returns its body. */
export async function newConnection(home: TestOrganization, body: Record<string, unknown> = {}) {
  const created = await home.ask('POST', connectionsBase(home), {
    name: 'Warehouse',
    type: 'Postgres',
    config: database_keys,
    ...body,
  });
  assert.equal(created.status, 201, created.text);
  return created.body;
}
