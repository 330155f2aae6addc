import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import sql from 'sql-template-tag';
import type { Harness, TestOrganization } from '../../harness.ts';

/** An invite as its mail identifies it. */
export type InviteLink = { id: string; token: string; target_email: string };
type Sent = { key?: string; headers?: Record<string, string> };

/** The members of an organization: address and level, newest first. */
export async function membersOf(home: TestOrganization) {
  const { body } = await home.ask('GET', `/api/organizations/${home.organization.id}/members/`);
  return body.results.map((one: any) => [one.user.email, one.level]);
}

/** Opens an invite with its link. */
export function lookAtInvite(
  harness: Harness,
  { id, token }: Partial<InviteLink>,
  sent: Sent = {},
) {
  const query = token === undefined ? '' : `?token=${token}`;
  return harness.request('GET', `/api/invites/${id}/${query}`, sent);
}

/** Accepts an invite with its link. */
export function acceptInvite(
  harness: Harness,
  { id, token }: Partial<InviteLink>,
  body: Record<string, unknown> = {},
  sent: Sent = {},
) {
  return harness.request('POST', `/api/invites/${id}/accept/`, {
    ...sent,
    body: { ...(token === undefined ? {} : { token }), ...body },
  });
}

/** Invites a person to the organization, by default at a new address. */
export async function newInvite(
  home: TestOrganization,
  fields: Record<string, unknown> = {},
): Promise<InviteLink> {
  const body = { target_email: `${randomUUID()}@example.com`, ...fields };
  const answer = await home.ask(
    'POST',
    `/api/organizations/${home.organization.id}/invites/`,
    body,
  );
  assert.equal(answer.status, 201);
  return {
    id: answer.body.id,
    token: new URL(answer.body.link).searchParams.get('token')!,
    target_email: body.target_email,
  };
}

/** A person with an account and an own organization, invited to another one. */
export async function invitedAccount(
  harness: Harness,
  fields: { is_email_verified?: boolean } = {},
) {
  const [home, own] = await Promise.all([harness.newOrganization(), harness.newOrganization()]);
  await harness.deps.db.run(
    sql`UPDATE users SET is_email_verified = ${fields.is_email_verified ?? false}
      WHERE id = ${own.user.id}`,
  );
  const target_email = own.user.email.toUpperCase();
  return { home, own, link: await newInvite(home, { target_email, level: 8 }) };
}
