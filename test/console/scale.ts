import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';

/** Heights of buttons and fields, as in `console/shell/scale.css`. */
const heights = [28, 32];
const controls = [
  '.mantine-Button-root',
  '.act',
  '.mantine-Input-input:not(textarea)',
  '.mantine-ActionIcon-root:not(.mantine-PasswordInput-visibilityToggle)',
].join(', ');

/**
 * Fails if a button or a field has another height, or another vertical position than the others in
 * its row.
 */
export async function checkScale(page: Page): Promise<void> {
  const faults = await page.evaluate<string[]>(`(() => {
    const nameOf = (one) =>
      (one.getAttribute('aria-label') ?? one.labels?.[0]?.textContent ?? one.textContent).trim();
    const seen = [...document.querySelectorAll(${JSON.stringify(controls)})]
      .map((one) => ({ one, ...one.getBoundingClientRect().toJSON() }))
      .filter(({ width, height }) => width > 0 && height > 0);
    const isOnScale = (height) =>
      ${JSON.stringify(heights)}.some((one) => Math.abs(one - height) < 0.6);
    const isRow = (one) => {
      const { display, flexDirection } = getComputedStyle(one);
      return display === 'flex' && flexDirection === 'row';
    };
    const rowOf = (one) => {
      const { parentElement: parent } = one;
      return parent === null || isRow(parent) ? parent : rowOf(parent);
    };
    return [
      ...seen
        .filter(({ height }) => !isOnScale(height))
        .map(({ one, height }) => nameOf(one) + ' is ' + height + ' px high'),
      ...seen.flatMap((a, index) =>
        seen
          .slice(index + 1)
          .filter((b) => rowOf(a.one) !== null && rowOf(a.one) === rowOf(b.one))
          .filter((b) => a.top < b.bottom && b.top < a.bottom && Math.abs(a.top - b.top) > 1)
          .map((b) =>
            nameOf(a.one) + ' at ' + a.top + ' beside ' + nameOf(b.one) + ' at ' + b.top)),
    ];
  })()`);
  assert.deepEqual(faults, [], page.url());
}

/**
 * Fails if a cell of a drawn list breaks words into letters, covers another cell or leaves its row,
 * at any of three widths of the window.
 */
export async function checkColumns(page: Page): Promise<void> {
  const before = page.viewportSize()!;
  for (const width of [1440, 1024, 390]) {
    await page.setViewportSize({ width, height: before.height });
    // The frame after a change of the width measures the rows again.
    const faults = await page.evaluate<string[]>(`new Promise((done) =>
      requestAnimationFrame(() => requestAnimationFrame(() => done(
        [...document.querySelectorAll('main [role=row]')].flatMap((row) => {
          const whole = row.getBoundingClientRect();
          const cells = [...row.children]
            .map((cell) => [cell.textContent.trim(), cell.getBoundingClientRect().toJSON()])
            .map(([text, place]) => ({ text, ...place }))
            .filter(({ text, height }) => text !== '' && height > 1);
          return cells.flatMap((cell, index) => [
            ...(cell.width < 28 && cell.height > 60
              ? [cell.text + ' is ' + cell.width + ' px wide'] : []),
            ...(cell.right > whole.right + 1 ? [cell.text + ' stands out'] : []),
            ...cells.slice(index + 1)
              .filter((other) => other.left < cell.right - 1 && cell.left < other.right - 1 &&
                other.top < cell.bottom - 1 && cell.top < other.bottom - 1)
              .map((other) => cell.text + ' covers ' + other.text),
          ]);
        }),
      ))))`);
    assert.deepEqual(faults, [], `${page.url()} at ${width}`);
  }
  await page.setViewportSize(before);
}
