import { openSmallDisk, openWarehouse } from './warehouse.ts';
import type { Warehouse } from './warehouse.ts';
import type { World } from './world.ts';

/** A failure of a destination, and its repair. */
export type Outage = {
  name: string;
  /** The table of its export, with its schema. */
  table: string;
  warehouse: Warehouse;
  /** The cause that every page and the notice name. */
  cause: RegExp;
  break(): Promise<unknown>;
  repair(): Promise<unknown>;
  export_id: string;
  /** Sluice continues on its own, and only reports it. */
  is_silent?: boolean;
};

/** An outage with the user of its export; each user has their own schema. */
type Planned = Omit<Outage, 'export_id' | 'table'> & { user: string };

const password = 'first-password';

/** The outages of the journey, each with a five-minute export; it closes its resources. */
export async function openOutages(world: World, project_id: number) {
  const { warehouse, folder } = world;
  const stopped = await openWarehouse(`${folder}/stopped`);
  // Only root may mount one.
  const disk = process.getuid?.() === 0 ? openSmallDisk(folder, 24) : undefined;
  const planned = [
    whenStopped(stopped),
    whenRefused(warehouse),
    ...(disk === undefined ? [] : [await whenFull(warehouse, disk)]),
    whenDropped(warehouse),
  ];
  const outages: Outage[] = [];
  for (const outage of planned) {
    const { user } = outage;
    await outage.warehouse.ask(`CREATE ROLE ${user} LOGIN PASSWORD '${password}'`);
    await outage.warehouse.ask(`CREATE SCHEMA ${user} AUTHORIZATION ${user}`);
    if (user === 'packed') await placeOnDisk(warehouse);
    const { port, database } = outage.warehouse;
    const { id } = await world.ask('POST', `/api/projects/${project_id}/batch_exports/`, {
      name: `When ${outage.name}`,
      interval: 'every 5 minutes',
      destination: {
        type: 'Postgres',
        config: {
          host: '127.0.0.1',
          port,
          database,
          user,
          password,
          schema: user,
          table_name: 'orders',
          require_tls: false,
        },
      },
    });
    outages.push({ ...outage, table: `${user}.orders`, export_id: id as string });
  }
  const close = async () => {
    await stopped.close();
    await warehouse.close();
    disk?.close();
  };
  return { outages, close };
}

function whenStopped(warehouse: Warehouse): Planned {
  return {
    name: 'the server is stopped',
    user: 'stopped',
    warehouse,
    cause: /^The server does not answer at this host and port/,
    break: () => warehouse.close(),
    repair: () => warehouse.start(),
  };
}

function whenRefused(warehouse: Warehouse): Planned {
  const setPassword = (text: string) => warehouse.ask(`ALTER ROLE refused PASSWORD '${text}'`);
  return {
    name: 'the password is wrong',
    user: 'refused',
    warehouse,
    cause: /^The server refused the user or the password/,
    break: () => setPassword('another-password'),
    repair: () => setPassword(password),
  };
}

async function whenFull(
  warehouse: Warehouse,
  disk: ReturnType<typeof openSmallDisk>,
): Promise<Planned> {
  await warehouse.ask(`CREATE TABLESPACE small LOCATION '${disk.path}'`);
  return {
    name: 'the disk is full',
    user: 'packed',
    warehouse,
    cause: /^The disk of the destination is full/,
    break: async () => disk.fill(),
    repair: async () => disk.empty(),
  };
}

async function placeOnDisk(warehouse: Warehouse): Promise<void> {
  await warehouse.ask('ALTER ROLE packed SET default_tablespace = small');
  await warehouse.ask('GRANT ALL ON TABLESPACE small TO packed');
}

function whenDropped(warehouse: Warehouse): Planned {
  return {
    name: 'the table is dropped',
    user: 'dropped',
    warehouse,
    is_silent: true,
    cause: /(?!)/,
    break: () => warehouse.ask('DROP TABLE dropped.orders'),
    repair: async () => undefined,
  };
}
