// Draws the console's map of 200,000 slots in Chromium: as one range, and where every slot is a
// range of its own. Run: npm run bench console_map [-- --rounds 60]
import { join } from 'node:path';
import { build } from 'vite';
import { root } from '../scripts/child.ts';
import { readBenchOptions, tell } from './measure/figures.ts';
import { startChromium } from '../test/processes/chromium.ts';

const slots = 200_000;
/** Number of times that each map is drawn. */
const rounds = Number(readBenchOptions({ rounds: '60' }).rounds);

/**
 * The modules of the map as one script. It puts the functions that the bench calls into
 * `globalThis.map`.
 */
async function bundleMap(): Promise<string> {
  const folder = join(root, 'console/batch_exports/slots');
  const name = 'map_bench';
  const answer = await build({
    configFile: false,
    root: folder,
    logLevel: 'error',
    plugins: [
      {
        name,
        resolveId: (id) => (id === name ? name : null),
        load: (id) =>
          id === name
            ? `import { drawnOf, rangeAt } from '${folder}/drawn.ts';
               import { paint } from '${folder}/paint.ts';
               globalThis.map = { drawnOf, rangeAt, paint };`
            : null,
      },
    ],
    build: { write: false, rollupOptions: { input: name } },
  });
  const parts = [answer].flat().flatMap((one) => ('output' in one ? one.output : []));
  return parts.map((part) => (part.type === 'chunk' ? part.code : '')).join('\n');
}

/**
 * Runs in the page. Times are in milliseconds; `getImageData` waits until the drawing is finished.
 */
const measure = `({ slots, rounds, is_apart }) => {
  const minutes = 5 * 60_000;
  const from = Date.parse('2024-01-01T00:00:00Z');
  const states = ['delivered', 'failed', 'delivered', 'missing', 'in_doubt'];
  const range = (first, count) => ({
    start_at: new Date(from + first * minutes).toISOString(),
    end_at: new Date(from + (first + count) * minutes).toISOString(),
    slots: count, state: is_apart ? states[first % states.length] : 'delivered',
    reason: is_apart && first % states.length === 3 ? 'paused' : null,
  });
  const ranges = is_apart
    ? Array.from({ length: slots }, (_, index) => range(index, 1)) : [range(0, slots)];
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [1200, 120];
  document.body.append(canvas);
  const context = canvas.getContext('2d', { willReadFrequently: true });
  const rhythm = { interval: 'every 5 minutes', timezone: 'Europe/Berlin', offset_minutes: 0 };
  const zones = ['Europe/Berlin', 'UTC'];
  const read_at = performance.now();
  const drawn = map.drawnOf(ranges);
  const read = performance.now() - read_at;
  const draw = (length) => {
    const view = { from, to: from + length * minutes };
    const began = performance.now();
    map.paint(context, { width: 1200, ratio: 1, view, rhythm, drawn, zones }, () => '#508fc6');
    context.getImageData(0, 0, 1, 1);
    return performance.now() - began;
  };
  const times = (length) => {
    const all = Array.from({ length: rounds }, () => draw(length)).sort((a, b) => a - b);
    return all;
  };
  const first = draw(slots);
  return { read, first, whole: times(slots), month: times(8640), day: times(288) };
}`;

type Measured = Record<'whole' | 'month' | 'day', number[]> & { read: number; first: number };

async function main(): Promise<void> {
  const browser = await startChromium();
  try {
    const page = await browser.newPage();
    await page.addScriptTag({ content: await bundleMap(), type: 'module' });
    await page.waitForFunction('globalThis.map !== undefined');
    for (const is_apart of [false, true]) {
      const { read, first, ...views } = await page.evaluate<Measured>(
        `(${measure})(${JSON.stringify({ slots, rounds, is_apart })})`,
      );
      const what = `Console: map of ${slots} slots in ${is_apart ? slots : 1} ranges`;
      const told = (part: string, ours: number[]) =>
        tell({ what: `${what}, ${part}`, unit: 'ms', better: 'less', ours });
      told('read', [read]);
      told('drawn first', [first]);
      for (const [name, times] of Object.entries(views)) told(`drawn, its ${name}`, times);
    }
  } finally {
    await browser.close();
  }
}

await main();
