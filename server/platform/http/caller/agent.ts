import type { FastifyRequest } from 'fastify';
import sql from 'sql-template-tag';
import type { Chain } from '../../activity/chain.ts';
import type { Queryable, Transaction } from '../../postgres/database.ts';
import { forbidden } from '../errors.ts';
import type { ApiError } from '../errors.ts';

/** The header of an agent's request. It can only remove rights, so anybody may send it. */
export const agent_header = 'sluice-agent';

/** Returns true if an agent sends the request. */
export function isOfAgent({ headers }: FastifyRequest): boolean {
  return headers[agent_header] !== undefined;
}

/**
 * Returns true if an agent sends the request and the organization forbids its writes. Locks the
 * organization's setting until the transaction ends: once the setting forbids agents to write, no
 * agent's write is in progress. Comes before the locks of members and records.
 */
export async function isClosedToAgent(
  tx: Queryable,
  request: FastifyRequest,
  organization_id: string,
): Promise<boolean> {
  if (!isOfAgent(request)) return false;
  const organization = await tx.row<{ forbids_agent_writes: boolean }>(
    sql`SELECT forbids_agent_writes FROM organizations WHERE id = ${organization_id}::uuid
      FOR SHARE`,
  );
  return organization?.forbids_agent_writes ?? false;
}

/**
 * Throws 403 for an agent's write if the affected organization, or one whose log records it,
 * forbids agents.
 */
export async function refuseAgent(
  tx: Transaction,
  request: FastifyRequest,
  is_closed: boolean,
  chains: readonly Chain[],
): Promise<void> {
  if (!isOfAgent(request)) return;
  const ids = chains.flatMap((one) => ('organization_id' in one ? [one.organization_id] : []));
  const closed = await tx.row(
    sql`SELECT 1 FROM organizations WHERE id = ANY (${ids}::uuid[]) AND forbids_agent_writes`,
  );
  if (is_closed || closed !== undefined) throw closedToAgents();
}

/**
 * Does the same as `refuseAgent` for changes outside PostgreSQL: events, and the row of a
 * connection test.
 */
export async function refuseAgentBeside(db: Queryable, request: FastifyRequest): Promise<void> {
  if (await isClosedToAgent(db, request, request.access.organization_id)) throw closedToAgents();
}

function closedToAgents(): ApiError {
  return forbidden(
    'This organization does not let agents change anything: a person has to do it, or an ' +
      'administrator allows it in the settings of the organization (`forbids_agent_writes`).',
  );
}
