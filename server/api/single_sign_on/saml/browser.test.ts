import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { shareChromium } from '../../../../test/processes/chromium.ts';
import { encodeResponse, readLoginUrl } from '../../../../test/saml/identity_provider.ts';
import {
  changeDomain,
  genuine,
  openSingleSignOn,
} from '../../../../test/factories/people/single_sign_on.ts';
import type { SingleSignOnWorld } from '../../../../test/factories/people/single_sign_on.ts';
import { listen } from '../../../../test/servers/loopback.ts';

const chromium = shareChromium();
const { skip } = chromium;
let world: SingleSignOnWorld;
let address: string;
// A provider on another site (127.0.0.1 is none of localhost's) whose page posts the response by
// itself.
const provider = createServer((request, response) => {
  const asked = readLoginUrl(`http://${request.headers.host}${request.url}`);
  const form =
    `<form method="post" action="${asked.acs_url}"><input name="SAMLResponse" ` +
    `value="${encodeResponse(genuine(world, asked))}"></form>`;
  response
    .writeHead(200, { 'content-type': 'text/html' })
    .end(`${form}<script>document.forms[0].submit()</script>`);
});
before(async () => {
  await listen(provider);
  const reserved = await listen(createServer());
  const { port } = reserved.address() as AddressInfo;
  reserved.close();
  await once(reserved, 'close');
  address = `http://localhost:${port}`;
  world = await openSingleSignOn({ wall_clock: true, config: { public_url: address } });
  await world.harness.app.listen({ host: '127.0.0.1', port });
});
after(async () => {
  await chromium.close();
  provider.closeAllConnections();
  provider.close();
  await world.close();
});

test(
  'a real browser comes back signed in, although the cross-site form has no cookie',
  { skip },
  async () => {
    const browser = await chromium.open();
    const home = await world.newHome({ jit_provisioning_enabled: true });
    await changeDomain(home, {
      saml_acs_url: `http://127.0.0.1:${(provider.address() as AddressInfo).port}/sso`,
    });
    const page = await (await browser.newContext()).newPage();
    const seen: string[] = [];
    page.on('response', async (response) => {
      const { pathname } = new URL(response.url());
      if (pathname !== '/complete/saml/') return;
      const { cookie = '' } = await response.request().allHeaders();
      seen.push(
        `${response.request().method()} ${response.status()} ${cookie.replace(/=\w+/, '')}`,
      );
    });
    await page.goto(`${address}/login/saml/?email=ada@acme.example&next=/account`);
    await page.waitForURL(`${address}/account`);
    await page.getByText('You are signed in as ada@acme.example').waitFor();
    assert.deepEqual(seen, ['POST 303 ', 'GET 303 sluice_sign_in']);
    assert.deepEqual(
      (await page.context().cookies())
        .map(({ name, httpOnly, sameSite }) => [name, httpOnly, sameSite])
        .sort(),
      [
        ['sluice_device', true, 'Lax'],
        ['sluice_session', true, 'Lax'],
        ['sluice_sign_in', true, 'Lax'],
      ],
    );

    // A link on another site: asked first, and then the whole way.
    const led = await (await browser.newContext()).newPage();
    await led.setContent(
      `<a href="${address}/login/saml/?email=ada@acme.example&next=/account">Look at this</a>`,
    );
    await led.click('a');
    await led.waitForURL(/\/login\/saml\//);
    assert.ok((await led.textContent('main'))?.includes('A link on another site led you here.'));
    assert.deepEqual(await led.context().cookies(), []);
    await led.click('text=Continue to the sign-in of acme.example');
    await led.waitForURL(`${address}/account`);

    // Somebody else's response in this browser: it has a mark, but of another sign-in.
    const other = await led.context().newPage();
    await other.route(`${address}/complete/saml/`, (route) => route.abort());
    const posted = other.waitForRequest(`${address}/complete/saml/`);
    await other.goto(`${address}/login/saml/?email=ada@acme.example`);
    const SAMLResponse = new URLSearchParams((await posted).postData() ?? '').get('SAMLResponse')!;
    await page.setContent(
      `<form method="post" action="${address}/complete/saml/"><input name="SAMLResponse" ` +
        `value="${SAMLResponse}"></form>`,
    );
    await page.evaluate('document.forms[0].submit()');
    await page.waitForURL(/\/complete\/saml\/\?id=/);
    assert.ok((await page.textContent('main'))?.includes('You were not signed in.'));
  },
);
