import assert from 'node:assert/strict';
import axe from 'axe-core';
import type { Page } from 'playwright-core';

/**
 * Gives the document axe-core, half a megabyte of script. It is a script element, which the process
 * of the page compiles once. The `eval` of `page.evaluate` would compile it for each document.
 */
export async function loadAxe(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const { exceptionDetails } = await session.send('Runtime.evaluate', { expression: axe.source });
  assert.equal(exceptionDetails, undefined);
  await session.detach();
}
