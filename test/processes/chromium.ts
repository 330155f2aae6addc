import { execFileSync } from 'node:child_process';
import { existsSync, linkSync, mkdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliDecompressSync } from 'node:zlib';
import { chromium } from 'playwright-core';
import type { Browser } from 'playwright-core';

/** The browser of this process, for one of its test files. */
export type SharedChromium = {
  /** The reason why tests with a browser are skipped here, as a sentence; false if they run. */
  skip: string | false;
  open(): Promise<Browser>;
  /** Called once by each file; the browser ends with the last one. */
  close(): Promise<void>;
};

let shared: Promise<Browser> | undefined;
let users = 0;
let reason: string | false | undefined;

/**
 * Returns the Chromium that the test files of this process share. Files request it while they are
 * loaded, so that the remaining files are known. The first file that opens it starts it.
 */
export function shareChromium(): SharedChromium {
  users += 1;
  reason ??= whyNot();
  return {
    skip: reason,
    open: () => (shared ??= startChromium()),
    close: async () => {
      users -= 1;
      if (users === 0) await (await shared)?.close();
    },
  };
}

function whyNot(): string | false {
  try {
    execFileSync(unpackChromium(), ['--version'], { stdio: 'pipe' });
    return false;
  } catch (error) {
    const said = String((error as { stderr?: Buffer }).stderr ?? '').trim() || String(error);
    return `Chromium does not start here: ${said.split('\n')[0]}`;
  }
}

/** Starts the Chromium of the development packages, without a window. */
export function startChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath: unpackChromium(),
    // One page, in a process that has compiled the console, and no page in reserve.
    args: ['--disable-gpu', '--disable-dev-shm-usage', '--renderer-process-limit=1'],
  });
}

/**
 * Returns the path of the program. It is unpacked once for each version. If several processes do so
 * at once, the first one's file stays: a running Chromium starts its own file again, and fails
 * without it.
 */
function unpackChromium(): string {
  const installed = import.meta.resolve('@sparticuz/chromium');
  const { version } = JSON.parse(readFileSync(new URL('../package.json', installed), 'utf8')) as {
    version: string;
  };
  const program = fileURLToPath(
    new URL(`../../node_modules/.cache/sluice/chromium-${version}`, import.meta.url),
  );
  if (existsSync(program)) return program;
  const unfinished = `${program}.${process.pid}`;
  mkdirSync(dirname(program), { recursive: true });
  const packed = readFileSync(new URL('../bin/chromium.br', installed));
  writeFileSync(unfinished, brotliDecompressSync(packed), { mode: 0o755 });
  try {
    linkSync(unfinished, program);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    unlinkSync(unfinished);
  }
  return program;
}
