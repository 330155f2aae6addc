import assert from 'node:assert/strict';
import axe from 'axe-core';
import type { Page } from 'playwright-core';

/**
 * Gives the document axe-core, half a megabyte of script: as a script, which the process of the
 * page compiles once, and not by the `eval` of `page.evaluate`, compiled for each document.
 */
export async function loadAxe(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const { exceptionDetails } = await session.send('Runtime.evaluate', { expression: axe.source });
  assert.equal(exceptionDetails, undefined);
  await session.detach();
}
