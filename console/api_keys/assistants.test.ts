import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { openConsole } from '../../test/console/open_console.ts';
import { checkEverywhere } from '../../test/console/visitor.ts';
import { askWith, newAssistant, redeem } from '../../test/factories/assistants.ts';

const world = openConsole();
const { skip } = world;
const hostile = `<img src=x onerror="document.title='taken'">`;

/** Listens where the assistant waits for the browser, and gives the first address that it opens. */
async function openCallback() {
  const { promise, resolve } = Promise.withResolvers<URL>();
  const server = createServer((request, response) => {
    if (request.url?.startsWith('/callback') === true)
      resolve(new URL(request.url, 'http://127.0.0.1'));
    response.setHeader('content-type', 'text/html').end('<title>Back</title><p>Go back.</p>');
  }).listen(0, '127.0.0.1');
  server.unref();
  await new Promise((listening) => server.once('listening', listening));
  const { port } = server.address() as AddressInfo;
  return {
    uri: `http://127.0.0.1:${port}/callback`,
    brought: promise,
    close: () => server.close(),
  };
}

const pathOf = (asked: Record<string, string>) =>
  `/authorize?${new URLSearchParams(asked).toString()}`;

test('a person lets an assistant in, sees it, and ends its access', { skip }, async () => {
  const { harness } = world;
  const home = await harness.newOrganization();
  const callback = await openCallback();
  const scope = 'project:read batch_export:read batch_export:write';
  const assistant = await newAssistant(harness, {
    scope,
    name: hostile,
    redirect_uri: callback.uri,
  });
  const { page, complaints, leave } = await world.visit(home.user);
  await page.goto(pathOf(assistant.asked));
  await page.getByText(hostile).waitFor();
  await page.getByText('a program on your computer').waitFor();
  await page.getByText('It chose this name itself').waitFor();
  await page.getByLabel('Change and run exports').uncheck();
  await checkEverywhere(page, 'assistant');
  await page.getByRole('button', { name: 'Allow access' }).click();
  const answer = (await callback.brought).searchParams;
  assert.equal(answer.get('state'), assistant.asked['state']);
  const { body } = await redeem(harness, assistant, answer.get('code')!);
  assert.equal(body.scope, 'batch_export:read project:read');
  assert.equal(await askWith(harness, body.access_token), 200);

  await page.goto('/account');
  await page.getByRole('heading', { name: 'Assistants' }).waitFor();
  await page.getByText('It chose this name itself. It signed in from 127.0.0.1.').waitFor();
  await page.goto(`/organizations/${home.organization.id}/keys`);
  await page.getByText('assistant', { exact: true }).waitFor();
  await page.getByRole('button', { name: /^Revoke/ }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke the access' }).click();
  await page.getByText('The access was revoked.').waitFor();
  assert.equal(await askWith(harness, body.access_token), 401);
  callback.close();
  // The one place outside that the console leads to.
  assert.match(complaints.splice(0).join(), /^asks for http:[^,]*\/callback\?[^,]*$/);
  await leave();
});

test('a refused assistant hears so, and who is signed out signs in first', { skip }, async () => {
  const { harness } = world;
  const home = await harness.newOrganization();
  const callback = await openCallback();
  const assistant = await newAssistant(harness, { redirect_uri: callback.uri });
  const { page, complaints, leave } = await world.visit();
  await page.goto(pathOf(assistant.asked));
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  const [name, value] = (await harness.newSession(home.user)).split('=') as [string, string];
  await page.context().addCookies([{ name, value, url: page.url() }]);
  await page.reload();
  await page.getByRole('heading', { name: 'Let an assistant in' }).waitFor();
  await page.getByRole('button', { name: 'Refuse access' }).click();
  const answer = (await callback.brought).searchParams;
  assert.deepEqual([answer.get('error'), answer.get('code')], ['access_denied', null]);
  callback.close();
  // The one place outside that the console leads to.
  assert.match(complaints.splice(0).join(), /^asks for http:[^,]*\/callback\?[^,]*$/);
  await leave();
});

test('a request that cannot be granted is explained and leads nowhere', { skip }, async () => {
  const { harness } = world;
  const home = await harness.newOrganization();
  const { asked } = await newAssistant(harness);
  const { page, leave } = await world.visit(home.user);
  await page.goto(pathOf({ ...asked, code_challenge_method: 'plain' }));
  await page.getByText('This sign-in cannot continue').waitFor();
  await page.getByText('A code_challenge with the method S256 is required').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Allow access' }).count(), 0);
  assert.equal(new URL(page.url()).pathname, '/authorize');
  await leave();
});
