import { mountsOf } from '../platform/http/caller/mount.ts';
import { collections } from './plugins/collections.ts';

const organization = '/api/organizations/:id/';

/**
 * Methods by path, without the names of parameters: what clients that were written for others send
 * to. Names that these do not know are ignored there; everywhere else they are refused.
 */
const endpoints: [path: string, methods: string][] = [
  ['/api/organizations/', 'GET POST'],
  [organization, 'GET PATCH PUT DELETE'],
  [`${organization}domains/`, 'GET POST'],
  [`${organization}domains/:id/`, 'GET PATCH PUT DELETE'],
  [`${organization}domains/:id/verify/`, 'POST'],
  [`${organization}invites/`, 'GET POST'],
  [`${organization}invites/:id/`, 'DELETE'],
  [`${organization}invites/bulk/`, 'POST'],
  [`${organization}members/`, 'GET'],
  [`${organization}members/:id/`, 'PATCH PUT DELETE'],
  [`${organization}projects/`, 'GET'],
  ...mountsOf('batch_exports').flatMap(({ base }): [string, string][] => [
    [base, 'GET POST'],
    [`${base}:id/`, 'GET PATCH PUT DELETE'],
    [`${base}:id/backfill/`, 'POST'],
    [`${base}:id/backfills/`, 'GET POST'],
    [`${base}:id/logs/`, 'GET'],
    [`${base}:id/pause/`, 'POST'],
    [`${base}:id/unpause/`, 'POST'],
    [`${base}:id/run/`, 'POST'],
    [`${base}:id/runs/`, 'GET'],
    [`${base}:id/runs/:id/`, 'GET'],
    [`${base}:id/runs/:id/logs/`, 'GET'],
  ]),
  ...collections.flatMap(({ base }): [string, string][] => [
    [base, 'GET POST'],
    [`${base}:id/`, 'GET PATCH PUT DELETE'],
    [`${base}:id/check_for_updates/`, 'GET'],
    [`${base}:id/source/`, 'GET'],
    [`${base}:id/update_source/`, 'PATCH PUT'],
    [`${base}:id/upgrade/`, 'POST'],
    [`${base}activity/`, 'GET'],
    [`${base}exports_unsubscribe_configs/`, 'GET'],
    [`${base}repository/`, 'GET'],
    [`${base}unused/`, 'GET'],
  ]),
];
const known = new Map(endpoints.map(([path, methods]) => [plain(path), methods.split(' ')]));

/** True for an endpoint of the contract; a PUT beside a PATCH of it, and its other mount, too. */
export function isOfContract(method: string, path: string): boolean {
  return known.get(plain(path))?.includes(method) === true;
}

/** Only where a parameter stands matters, not what the code calls it. */
function plain(path: string): string {
  return path.replaceAll(/:\w+/g, ':');
}
