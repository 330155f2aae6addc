// A process that refreshes the tokens of a config like a worker. Arguments: the address of the
// control store, the secret key, the id of the config, and the refused generation. It prints
// "asking", and then the generation that it got.
import { currentConnection } from '../../../server/engine/plugins/oauth/refresh.ts';
import { findVendor } from '../../../server/engine/plugins/oauth/vendors.ts';
import { silentLog } from '../../../server/platform/log.ts';
import { openOutbound } from '../../../server/platform/outbound/outbound.ts';
import { openDatabase } from '../../../server/platform/postgres/database.ts';
import { openSecrets } from '../../../server/platform/secrets/secrets.ts';

const [url = '', secret_key = '', config_id = '', generation = ''] = process.argv.slice(2);
const tool = 'webhook-extensible';
const db = openDatabase(url, { connections_max: 2, application_name: 'sluice-campaign' });
const outbound = openOutbound({ allow: ['127.0.0.0/8'] });
const parts = { db, outbound, log: silentLog(), secrets: openSecrets(secret_key) };
const place = { config_id: Number(config_id), tool, vendor: findVendor(tool)! };
console.log('asking');
const signal = AbortSignal.timeout(120_000);
const found = await currentConnection(parts, place, signal, Number(generation));
console.log(`got ${found.generation}`);
process.exit();
