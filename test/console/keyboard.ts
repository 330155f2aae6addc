import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';

const tabs_max = 150;

/** The element with the focus: its name, and whether the focus is visible. */
type Focus = { name: string; is_seen: boolean };

/**
 * Presses Tab until the element with this name has the focus, like a person without a mouse. Fails
 * if Tab does not reach it, or if the focus is invisible on the way.
 */
export async function tabTo(page: Page, name: string | RegExp): Promise<void> {
  const passed: string[] = [];
  for (let tabs = 0; tabs < tabs_max; tabs += 1) {
    await page.keyboard.press('Tab');
    const focus = await focusOf(page);
    if (focus === undefined) continue;
    assert.ok(focus.is_seen, `The focus is not seen on "${focus.name}".`);
    const is_there = typeof name === 'string' ? focus.name === name : name.test(focus.name);
    if (is_there) return;
    passed.push(focus.name);
  }
  assert.fail(`Tab does not come to ${String(name)}, but to: ${passed.join(' | ')}`);
}

/** Activates the element with this name, using only Tab and Enter. */
export async function pressByKey(page: Page, name: string | RegExp): Promise<void> {
  await tabTo(page, name);
  await page.keyboard.press('Enter');
}

/** Types into the field with this name and replaces its content. */
export async function typeInto(page: Page, name: string | RegExp, text: string): Promise<void> {
  await tabTo(page, name);
  await page.keyboard.press('ControlOrMeta+a');
  await page.keyboard.insertText(text);
}

function focusOf(page: Page): Promise<Focus | undefined> {
  return page.evaluate<Focus | undefined>(`(() => {
    const element = document.activeElement;
    if (element === null || element === document.body) return undefined;
    const label = element.getAttribute('aria-label') ?? element.labels?.[0]?.textContent;
    const style = getComputedStyle(element.closest('.mantine-PasswordInput-input') ?? element);
    const ring = style.outlineStyle !== 'none' && style.outlineWidth !== '0px';
    const { width, height } = element.getBoundingClientRect();
    return {
      name: (label ?? element.textContent).replaceAll(/\\s+/g, ' ').replace(/ \\*$/, '').trim(),
      is_seen: width > 0 && height > 0 && ring,
    };
  })()`);
}
