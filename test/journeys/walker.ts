import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { BrowserContext, Locator, Page } from 'playwright-core';
import { clearBrowser } from '../console/visitor.ts';

const wait_ms_max = 60_000;

/** The cost of a journey, and the decisive sentences of the screen. */
export type Walked = {
  name: string;
  clicks: number;
  /** Fields with typed or pasted text, and pressed keys, each group counted once. */
  typed: number;
  seconds: number;
  /** The sentences of the decisive moments, in order. */
  said: string[];
  complaints: string[];
};

/**
 * A person at a browser, who counts what they do. Counted steps are `press`, `type`, `choose` and
 * `key`; reads of the page cost nothing.
 */
export type Walker = {
  page: Page;
  /** Clicks the button, link or tab with this name, or the located element. */
  press(what: string | RegExp | Locator): Promise<void>;
  /** Clicks into a field and types: one click and one group of keys. */
  type(label: string | RegExp | Locator, text: string): Promise<void>;
  /** Types into the focused field. */
  typeOn(text: string): Promise<void>;
  /** Opens a select field and chooses: one click and one choice. */
  choose(label: string | RegExp | Locator, option: string): Promise<void>;
  key(name: string): Promise<void>;
  /** Waits for the text, and records it as the text of the screen at this moment. */
  see(what: string | RegExp | Locator): Promise<string>;
  shot(name: string): Promise<void>;
  /** Records the compared value beside the screen's text. */
  note(text: string): void;
};

/** A browser and a folder for its screenshots. */
export type WalkerHome = { context: BrowserContext; address: string; shots: string | undefined };

/** Walks a journey in its own page, and returns its number of steps. */
export async function walk(
  { context, address, shots }: WalkerHome,
  name: string,
  journey: (walker: Walker) => Promise<void>,
): Promise<Walked> {
  const page = await context.newPage();
  context.setDefaultTimeout(wait_ms_max);
  const walked: Walked = { name, clicks: 0, typed: 0, seconds: 0, said: [], complaints: [] };
  hear(page, walked.complaints);
  const began = performance.now();
  try {
    await journey(walkerOn(page, walked, shots));
  } catch (error) {
    if (shots !== undefined) await page.screenshot({ path: join(shots, `failed.png`) });
    throw error;
  }
  walked.seconds = (performance.now() - began) / 1000;
  await page.close();
  await clearBrowser(context, address);
  return walked;
}

/** Records the errors of the browser; a refusal of the API is no fault of the page. */
function hear(page: Page, complaints: string[]): void {
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    const refusal = 'Failed to load resource: the server responded with a status of 4';
    if (message.text().startsWith(refusal)) return;
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
}

function walkerOn(page: Page, walked: Walked, shots: string | undefined): Walker {
  const type: Walker['type'] = async (label, text) => {
    walked.clicks += 1;
    walked.typed += 1;
    await fieldOf(page, label).fill(text);
  };
  return {
    page,
    type,
    press: async (what) => {
      walked.clicks += 1;
      await (
        typeof what === 'string' || what instanceof RegExp
          ? page
              .getByRole('button', { name: what, exact: true })
              .or(page.getByRole('link', { name: what, exact: true }))
              .or(page.getByRole('menuitem', { name: what, exact: true }))
              .first()
          : what
      ).click();
    },
    typeOn: async (text) => {
      walked.typed += 1;
      await page.keyboard.insertText(text);
    },
    choose: async (label, option) => {
      walked.clicks += 2;
      await fieldOf(page, label).selectOption(option);
    },
    key: async (name) => {
      walked.typed += 1;
      await page.keyboard.press(name);
    },
    see: async (what) => {
      const place =
        typeof what === 'string' || what instanceof RegExp
          ? page.getByText(what).first()
          : what.first();
      await place.waitFor();
      const text = (await place.innerText()).replaceAll(/\s+/g, ' ').trim();
      walked.said.push(text);
      return text;
    },
    note: (text) => void walked.said.push(text),
    shot: async (name) => {
      if (shots === undefined) return;
      mkdirSync(shots, { recursive: true });
      await page.screenshot({ path: join(shots, `${name}.png`), fullPage: true });
    },
  };
}

/** The field with the label; a required one has a star behind it. */
function fieldOf(page: Page, label: string | RegExp | Locator): Locator {
  if (typeof label !== 'string' && !(label instanceof RegExp)) return label;
  return page
    .getByRole('textbox', { name: label, exact: true })
    .or(page.getByLabel(label, { exact: true }))
    .first();
}
