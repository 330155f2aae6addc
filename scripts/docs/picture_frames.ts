import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import type { Browser, Locator, Page } from 'playwright-core';

/** A screenshot in base64, its duration, and the place of a click. */
export type Frame = {
  png: string;
  caption: string;
  ms: number;
  pointer?: { x: number; y: number } | undefined;
};

const frame_ms = 600;
const last_ms = 1_800;

/** Takes frames of a page. */
export function openCamera(page: Page) {
  const frames: Frame[] = [];
  const shoot = async (caption: string, ms: number, pointer?: Frame['pointer']) => {
    const png = (await page.screenshot({ animations: 'disabled' })).toString('base64');
    frames.push({ png, caption, ms, pointer });
  };
  return {
    frames,
    shoot,
    /** Takes frames until an event, and keeps this many of them, evenly spaced, and a last one. */
    film: async (caption: string, happened: Promise<unknown>, most: number): Promise<void> => {
      const before = frames.length;
      const over = happened.then(() => true);
      while (!(await Promise.race([over, pause(frame_ms).then(() => false)])))
        await shoot(caption, frame_ms);
      const taken = frames.splice(before);
      const step = Math.max(1, Math.ceil(taken.length / most));
      frames.push(...taken.filter((_, index) => index % step === 0));
      await shoot(caption, last_ms);
    },
    /** Shows the place of a click, then clicks there. */
    press: async (caption: string, target: Locator): Promise<void> => {
      const box = (await target.boundingBox())!;
      const pointer = { x: box.x + box.width / 2, y: box.y + box.height / 2 };
      await shoot(caption, last_ms, pointer);
      await target.click();
    },
  };
}

/** Encodes frames as an animated GIF, in a page of the browser. */
export async function encodeFrames(browser: Browser, frames: Frame[]): Promise<Buffer> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL('picture_encoder.ts', import.meta.url))],
    bundle: true,
    write: false,
    format: 'iife',
    target: 'es2022',
  });
  const page = await browser.newPage();
  await page.addScriptTag({ content: outputFiles[0]!.text });
  const text = await page.evaluate(
    (all) => (globalThis as unknown as { encode(frames: Frame[]): Promise<string> }).encode(all),
    frames,
  );
  await page.close();
  return Buffer.from(text, 'base64');
}
