import assert from 'node:assert/strict';
import axe from 'axe-core';
import type { Page } from 'playwright-core';

/**
 * Loads axe-core, half a megabyte of script, into the document. As a script element, it is compiled
 * once for the page's process. The `eval` of `page.evaluate` would compile it for each document.
 */
export async function loadAxe(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const { exceptionDetails } = await session.send('Runtime.evaluate', { expression: axe.source });
  assert.equal(exceptionDetails, undefined);
  await session.detach();
}
