import type { FastifyRequest } from 'fastify';
import sql from 'sql-template-tag';
import type { Chain } from '../../activity/chain.ts';
import type { Queryable, Transaction } from '../../postgres/database.ts';
import { forbidden } from '../errors.ts';
import type { ApiError } from '../errors.ts';

/**
 * The header of a request that an agent asks for. It can only take rights away, so it does not
 * matter who sends it.
 */
export const agent_header = 'sluice-agent';

/** Does an agent ask? */
export function isOfAgent({ headers }: FastifyRequest): boolean {
  return headers[agent_header] !== undefined;
}

/**
 * True when an agent asks and the organization forbids its writes. Holds what the organization says
 * until the transaction ends: once somebody was told that agents may write no more, no write of one
 * is under way. Comes before the locks of members and records.
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
 * Throws 403 when an agent asks and what its write leads into is closed to it, or an organization
 * in whose log it would stand.
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
 * As `refuseAgent`, for what no transaction of PostgreSQL changes: events, and the row that a test
 * of a connection writes.
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
