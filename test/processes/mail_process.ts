// Writes a mail, commits, reports that on standard output and, if asked to, begins to send. The
// test kills it. Arguments: PostgreSQL URL, URL of the relay, secret key, address, `send` or
// `hold`.
import { writeSync } from 'node:fs';
import { systemClock } from '../../server/platform/clock.ts';
import { silentLog } from '../../server/platform/log.ts';
import { openMail } from '../../server/platform/mail/mail.ts';
import { openOutbox } from '../../server/platform/mail/outbox.ts';
import { openDatabase } from '../../server/platform/postgres/database.ts';
import { openSecrets } from '../../server/platform/secrets/secrets.ts';

const [databaseUrl = '', relay = '', key = '', to = '', then = ''] = process.argv.slice(2);
const db = openDatabase(databaseUrl, { connections_max: 4, application_name: 'mail-process' });
const [log, clock] = [silentLog(), systemClock];
const mail = openMail({ url: relay, from: 'sluice@example.com', log, clock });
const secrets = openSecrets(key);
const outbox = openOutbox({ db, clock, log, secrets, mail, onTaken: async () => undefined });
const message = { to, subject: 'Kept', text: 'Kept', html: '<p>Kept</p>' };
const ids = await db.transaction((tx) => outbox.write(tx, [{ message }]));
writeSync(1, 'committed\n');
if (then === 'send') await outbox.send(ids);
setInterval(() => {}, 60_000);
