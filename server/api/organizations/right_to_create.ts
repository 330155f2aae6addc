import type { Deps } from '../../deps.ts';
import { forbidden } from '../../platform/http/errors.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { refuseDeactivated } from '../deactivation/store.ts';
import { findStanding } from './store.ts';

/**
 * Throws 403 unless the person may create an organization by SLUICE_ORGANIZATION_CREATION.
 * Everybody may on a server without organizations. A person whom their company's directory has
 * deactivated never may.
 */
export async function requireRightToCreate(
  db: Queryable,
  { config: { organization_creation } }: Pick<Deps, 'config'>,
  user_id: number,
): Promise<void> {
  await refuseDeactivated(db, user_id, 'create organizations');
  const { is_first, is_owner, is_member } = await findStanding(db, user_id);
  if (is_first || organization_creation === 'anyone') return;
  const [may, who] =
    organization_creation === 'owner' ? [is_owner, 'an owner'] : [is_member, 'a member'];
  if (may) return;
  throw forbidden(
    `On this server you must be ${who} of an organization to create another one. Ask the ` +
      'operator to add you to one, or to change SLUICE_ORGANIZATION_CREATION.',
  );
}
