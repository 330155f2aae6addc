import { mountsOf } from '../platform/http/caller/mount.ts';
import { collections } from './plugins/collections.ts';

const organization = '/api/organizations/:id/';

/**
 * Methods by path, without the names of parameters, for the endpoints that clients of a similar API
 * use. These endpoints ignore unknown fields; all others refuse them.
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

/**
 * Returns true for an endpoint of the contract, also for a PUT beside its PATCH, and at its other
 * mount.
 */
export function isOfContract(method: string, path: string): boolean {
  return known.get(plain(path))?.includes(method) === true;
}

/** Only the position of a parameter matters, not its name in the code. */
function plain(path: string): string {
  return path.replaceAll(/:\w+/g, ':');
}
