import type { Page } from 'playwright-core';

/** Chooses a destination in a form by a click on the tile whose text begins with its name. */
export function chooseDestination(page: Page, label: string): Promise<void> {
  return page.getByRole('button', { name: new RegExp(`^${label} `) }).click();
}
