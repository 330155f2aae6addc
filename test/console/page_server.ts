import { eventually } from '../eventually.ts';
import { silentLog } from '../../server/platform/log.ts';
import { openMail } from '../../server/platform/mail/mail.ts';
import { openHarness } from '../harness.ts';
import type { Harness, HarnessOptions } from '../harness.ts';
import { openMailServer } from '../servers/mail_server.ts';
import type { TestClock } from '../factories/people/people.ts';

/** The port of the latest page server of this process. */
let latest_port = 0;

/** A server for browsers, with the relay that gets its mails. */
export type PageServer = {
  harness: Harness;
  address: string;
  /**
   * Returns the link in the latest mail to the address, once one with this text in its subject has
   * arrived.
   */
  linkIn(to: string, subject: string): Promise<string>;
  close(): Promise<void>;
};

/**
 * Starts the server with the built console on its own port. It reuses the latest port if that is
 * free, so that a browser has cached the scripts of this address. `base_path` is the path of the
 * server (`/sluice`), `host` its name for browsers.
 */
export async function openPageServer(
  clock: TestClock,
  {
    base_path = '',
    host = '127.0.0.1',
    ...options
  }: HarnessOptions & { base_path?: string; host?: '127.0.0.1' | 'localhost' } = {},
): Promise<PageServer> {
  const relay = await openMailServer();
  const mail = openMail({
    url: relay.url,
    from: 'Sluice <sluice@example.com>',
    log: silentLog(),
    clock,
  });
  const harness = await openHarness({
    clickhouse: false,
    ...options,
    deps: { ...options.deps, mail, clock },
  });
  const listen = (port: number) => harness.app.listen({ host: '127.0.0.1', port });
  const origin = await listen(latest_port).catch(() => listen(0));
  latest_port = Number(new URL(origin).port);
  const address = `${origin.replace('127.0.0.1', host)}${base_path}`;
  // Only known now; links in mails and the definition of the own site depend on it.
  harness.deps.config.public_url = address;
  return {
    harness,
    address,
    linkIn: async (to, subject) => {
      const mail = await eventually(`${to} has no mail with "${subject}"`, () =>
        relay.mails.findLast(
          (one) => one.to.includes(to) && one.content.subject?.includes(subject),
        ),
      );
      return /^http\S+$/m.exec(mail.content.text ?? '')![0];
    },
    close: async () => {
      await harness.close();
      await relay.close();
    },
  };
}
