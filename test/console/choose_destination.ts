import type { Page } from 'playwright-core';

/** Chooses a destination in a form by pressing the tile that begins with its name. */
export function chooseDestination(page: Page, label: string): Promise<void> {
  return page.getByRole('button', { name: new RegExp(`^${label} `) }).click();
}
