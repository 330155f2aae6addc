import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach } from 'node:test';
import type { Browser } from 'playwright-core';
import { forgetAllAttempts, openTestClock } from '../factories/people/people.ts';
import type { TestClock } from '../factories/people/people.ts';
import type { Harness } from '../harness.ts';
import { shareChromium } from '../processes/chromium.ts';
import { openPageServer } from './page_server.ts';
import type { PageServer } from './page_server.ts';
import { openSignedIn, openVisitor } from './visitor.ts';
import type { LeftBrowsers, Visitor } from './visitor.ts';

/**
 * Browsers that test files of this process have left, and their addresses. The next file, whose
 * server has the same address, needs no new process and loads no script again.
 */
const left: LeftBrowsers = [];
let left_at: string | undefined;

type ServerOptions = NonNullable<Parameters<typeof openPageServer>[1]>;

/** The console of one test file: a server with a mail relay, and a browser. */
export type Console = {
  /** The reason why tests with a browser are skipped here; false if they run. */
  skip: string | false;
  clock: TestClock;
  /** Set from the first hook on, like the harness. */
  readonly server: PageServer;
  readonly harness: Harness;
  /**
   * A browser without a sign-in, or with the sign-in of the given person. The tests of the file use
   * one after another, cleared each time.
   */
  visit(user?: { id: number }): Promise<Visitor>;
};

/**
 * Opens server and browser before the tests of the file that calls it, and closes them after. It
 * forgets failed sign-ins before each test.
 */
export function openConsole({
  prepare,
  opened,
  closing,
  ...options
}: ServerOptions & {
  /** Opens the resources that the server needs, and returns them. */
  prepare?: () => Promise<ServerOptions>;
  /**
   * Creates the records that the tests need; a hook of the file may run before there is a server.
   */
  opened?: (harness: Harness) => Promise<unknown>;
  /** Ends what uses the server, before the server. */
  closing?: () => Promise<unknown>;
} = {}): Console {
  const chromium = shareChromium();
  const { skip } = chromium;
  let browser: Browser;
  const clock = openTestClock();
  let server: PageServer;
  before(async () => {
    server = await openPageServer(clock, { ...options, ...(await prepare?.()) });
    if (skip === false) browser = await chromium.open();
    const { origin } = new URL(server.address);
    if (origin !== left_at) await Promise.all(left.splice(0).map((context) => context.close()));
    left_at = origin;
    await opened?.(server.harness);
  });
  after(async () => {
    await closing?.();
    await chromium.close();
    if (skip === false && !browser.isConnected()) left.length = 0;
    await server.close();
  });
  beforeEach(() => forgetAllAttempts(server.harness));
  return {
    skip,
    clock,
    get server() {
      return server;
    },
    get harness() {
      return server.harness;
    },
    visit: (user) =>
      user === undefined
        ? openVisitor(browser, server.address, left)
        : openSignedIn(browser, server, user, left),
  };
}

/**
 * Opens the console of a file whose tests use one browser, one after another. At the start of each
 * test nobody is signed in, and the test loads the page. It fails if the browser logged an error.
 */
export function openOneBrowser(opened: (visitor: Visitor) => void): Console {
  let visitor: Visitor | undefined;
  const world = openConsole({
    opened: async () => {
      if (world.skip !== false) return;
      visitor = await world.visit();
      opened(visitor);
    },
    closing: async () => visitor?.close(),
  });
  afterEach(async () => {
    await visitor?.forget();
    assert.deepEqual(visitor?.complaints.splice(0) ?? [], []);
  });
  return world;
}
