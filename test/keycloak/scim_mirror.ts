import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { installPython } from '../../scripts/peer.ts';
import { root } from '../house/source_files.ts';
import type { DomainCompany, Person } from './companies.ts';
import type { World } from './world.ts';

/** The SCIM client library of the campaign, from PyPI. */
const packages = ['scim2-client[httpx2]==0.13.2', 'scim2-models==0.12.3'];

/** The result of a mirroring, by addresses and names of groups. */
export type Mirrored = Record<'created' | 'changed' | 'removed', string[]>;

/**
 * Creates a token of the directory, by its owner unless another creator is given. Each call of the
 * returned function mirrors the company's realm into it.
 */
export async function openDirectory(
  { keycloak, realm }: World,
  { domain, domain_path, owner }: DomainCompany,
  { ask }: Person = owner,
): Promise<() => Promise<Mirrored>> {
  const created = await ask(201, 'POST', `${domain_path}/scim/tokens/`, { name: 'Keycloak' });
  return async () =>
    mirror({
      realm_url: `${keycloak.url}/admin/realms/${realm.name}`,
      realm_token: await keycloak.newToken(),
      domain,
      scim_url: created['base_url'],
      scim_token: created['token'],
    });
}

/**
 * Makes the directory equal to the realm: people of the domain, and groups. Rejects with the error
 * of the client library.
 */
async function mirror(asked: {
  realm_url: string;
  realm_token: string;
  domain: string;
  scim_url: string;
  scim_token: string;
}): Promise<Mirrored> {
  const program = join(root, 'test/keycloak/scim_mirror.py');
  const child = spawn(await findClient(), [program], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  child.stdin.end(JSON.stringify(asked));
  const exited = once(child, 'exit');
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), exited]);
  if (code !== 0) throw new Error(`The SCIM client ended with ${code}:\n${err}`);
  return JSON.parse(out) as Mirrored;
}

let installed: Promise<string> | undefined;

/** Returns a Python with the library; pip installs it the first time. */
function findClient(): Promise<string> {
  installed ??= installPython('scim2-client-0.13.2', packages);
  return installed;
}
