import { createReadStream, createWriteStream, existsSync } from 'node:fs';
import { mkdir, readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { createBrotliDecompress } from 'node:zlib';
import { chromium } from 'playwright-core';
import type { Browser } from 'playwright-core';

/** The browser of this process, whose test files may all ask at once, and how many have it. */
let started: Promise<Browser | string> | undefined;
let users = 0;

/**
 * Starts the Chromium of the development packages, without a window, once for all who ask: each
 * closes it, and it ends with the last. Gives the reason, as a sentence, where it does not run on
 * this machine.
 */
export async function startChromium(): Promise<Browser | string> {
  users += 1;
  // In a promise of the caller's own: the test runner takes who awaits that of another test file
  // for a part of that one.
  return (started ??= launch());
}

async function launch(): Promise<Browser | string> {
  try {
    const browser = await chromium.launch({
      executablePath: await unpackChromium(),
      // A page in a process that has compiled the console, and none that waits for a page to come.
      args: ['--disable-gpu', '--disable-dev-shm-usage', '--renderer-process-limit=1'],
    });
    const close = browser.close.bind(browser);
    browser.close = async () => {
      users -= 1;
      if (users > 0) return;
      started = undefined;
      await close();
    };
    return browser;
  } catch (error) {
    return `Chromium does not start here: ${String(error).split('\n')[0]}`;
  }
}

/**
 * Where the program is. It is unpacked once for each version; processes that do so at once do not
 * disturb each other.
 */
async function unpackChromium(): Promise<string> {
  const installed = import.meta.resolve('@sparticuz/chromium');
  const { version } = JSON.parse(await readFile(new URL('../package.json', installed), 'utf8')) as {
    version: string;
  };
  const program = fileURLToPath(
    new URL(`../../node_modules/.cache/sluice/chromium-${version}`, import.meta.url),
  );
  if (existsSync(program)) return program;
  const unfinished = `${program}.${process.pid}`;
  await mkdir(dirname(program), { recursive: true });
  await pipeline(
    createReadStream(new URL('../bin/chromium.br', installed)),
    createBrotliDecompress(),
    createWriteStream(unfinished, { mode: 0o755 }),
  );
  await rename(unfinished, program);
  return program;
}
