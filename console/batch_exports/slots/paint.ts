import { slotAt, slotLength } from './boundaries.ts';
import type { Rhythm, Span } from './boundaries.ts';
import { columnShares, firstEndingAfter } from './drawn.ts';
import type { Drawn } from './drawn.ts';
import { kind_names, kinds } from './kinds.ts';
import type { KindName } from './kinds.ts';
import { ticksOf } from './axis.ts';

/** All that the picture of the slots is made of; sizes in pixels of CSS. */
export type Picture = {
  width: number;
  ratio: number;
  view: Span;
  rhythm: Rhythm;
  drawn: Drawn;
  /** The zones whose clocks stand under it, each in a line of its own. */
  zones: readonly string[];
};

/** The marks on the map. */
export type Marks = { selection: Span | undefined; cursor: Span | undefined };

/** A colour by the name of its variable in the theme. */
export type ColourOf = (variable: string) => string;

/** The height of the slots, and of a line of the axis. */
const band = 96;
const line = 18;
/** A slot that is wider than this is a box of its own; else a column of pixels has several. */
const box_width_min = 4;
/** Height of trouble in pixels, however small its share of a column. */
const trouble_height_min = 6;
const tick_width = 72;

/** The height of the whole picture. */
export function heightOf(zones: readonly string[]): number {
  return band + zones.length * line + 4;
}

/** Paints slots and axis. Its time goes with the width and the ranges, not with the slots. */
export function paint(
  context: CanvasRenderingContext2D,
  picture: Picture,
  colourOf: ColourOf,
): void {
  const { width, ratio, view, rhythm } = picture;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, heightOf(picture.zones));
  const fills = fillsOf(context, colourOf, ratio);
  const slot_width = (slotLength(rhythm) / (view.to - view.from)) * width;
  if (slot_width >= box_width_min) paintBoxes(context, picture, fills);
  else paintColumns(context, picture, fills);
  paintAxis(context, picture, colourOf);
}

type Fills = Record<KindName, string | CanvasPattern>;

function fillsOf(context: CanvasRenderingContext2D, colourOf: ColourOf, ratio: number): Fills {
  const fills = Object.entries(kinds).map(([name, { colour, is_hatched }]) => [
    name,
    is_hatched ? hatch(context, colourOf(colour), ratio) : colourOf(colour),
  ]);
  return Object.fromEntries(fills) as Fills;
}

/** Slanted lines, so that what is missing is told from what failed without its colour. */
function hatch(context: CanvasRenderingContext2D, colour: string, ratio: number) {
  const size = 6 * ratio;
  const tile = document.createElement('canvas');
  [tile.width, tile.height] = [size, size];
  const pen = tile.getContext('2d')!;
  pen.strokeStyle = colour;
  pen.lineWidth = 2 * ratio;
  for (const shift of [-size, 0, size]) {
    pen.moveTo(shift - 1, size + 1);
    pen.lineTo(shift + size + 1, -1);
  }
  pen.stroke();
  const pattern = context.createPattern(tile, 'repeat')!;
  pattern.setTransform(new DOMMatrix().scale(1 / ratio));
  return pattern;
}

function paintBoxes(context: CanvasRenderingContext2D, picture: Picture, fills: Fills): void {
  const { drawn, view, rhythm } = picture;
  const xOf = scaleOf(picture);
  for (let index = firstEndingAfter(drawn, view.from); index < drawn.to.length; index += 1) {
    const [from, to] = [Math.max(drawn.from[index]!, view.from), drawn.to[index]!];
    if (from >= view.to) return;
    context.fillStyle = fills[kind_names[drawn.kind[index]!]!];
    for (let slot = slotAt(rhythm, from); slot.from < Math.min(to, view.to);) {
      const [left, right] = [xOf(slot.from), xOf(slot.to)];
      context.fillRect(left + 0.5, 0, Math.max(1, right - left - 1), band);
      slot = slotAt(rhythm, slot.to);
    }
  }
}

function paintColumns(context: CanvasRenderingContext2D, picture: Picture, fills: Fills): void {
  const { drawn, view, width } = picture;
  const columns = Math.ceil(width);
  const shares = columnShares(drawn, view, columns);
  const heights = new Float32Array(shares.length);
  for (let column = 0; column < columns; column += 1)
    stack(shares, heights, column * kind_names.length);
  // By kind and then by column: a canvas is slow to change its colour.
  kind_names.forEach((name, kind) => {
    context.fillStyle = fills[name];
    for (let column = 0; column < columns; column += 1) {
      const first = column * kind_names.length;
      const height = heights[first + kind]!;
      if (height === 0) continue;
      let below = 0;
      for (let other = 0; other < kind; other += 1) below += heights[first + other]!;
      context.fillRect(column, band - below - height, 1, height);
    }
  });
}

/** The heights of a column: its shares, but trouble is high enough to be seen. */
function stack(shares: Float32Array, heights: Float32Array, first: number): void {
  let calm = 0;
  let trouble = 0;
  kind_names.forEach((name, kind) => {
    const share = shares[first + kind]!;
    if (share === 0) return;
    if (!kinds[name].is_trouble) {
      calm += share;
      return;
    }
    const height = Math.max(share * band, trouble_height_min);
    heights[first + kind] = height;
    trouble += height;
  });
  const rest = Math.max(0, Math.min(calm * band, band - trouble));
  kind_names.forEach((name, kind) => {
    if (!kinds[name].is_trouble && calm > 0)
      heights[first + kind] = (shares[first + kind]! / calm) * rest;
    else if (trouble > band) heights[first + kind]! *= band / trouble;
  });
}

function paintAxis(context: CanvasRenderingContext2D, picture: Picture, colourOf: ColourOf): void {
  const { width, view, zones } = picture;
  const xOf = scaleOf(picture);
  context.font = '11px Geist, system-ui, sans-serif';
  context.textBaseline = 'middle';
  const most = Math.floor(width / tick_width);
  zones.forEach((zone, index) => {
    const top = band + index * line;
    for (const { at, text } of ticksOf(view, zone, most)) {
      const x = Math.round(xOf(at)) + 0.5;
      if (x + tick_width / 2 > width) continue;
      context.fillStyle = colourOf('--line');
      context.fillRect(x - 0.5, top, 1, 6);
      context.fillStyle = colourOf('--mantine-color-dimmed');
      context.fillText(text, x + 4, top + line / 2 + 2);
    }
  });
}

/** Paints what is selected and pointed at over the slots. */
export function paintMarks(
  context: CanvasRenderingContext2D,
  picture: Picture,
  { selection, cursor }: Marks,
  colourOf: ColourOf,
): void {
  const xOf = scaleOf(picture);
  const colour = colourOf('--mantine-color-text');
  const frame = ({ from, to }: Span, thickness: number) => {
    const [left, right] = [xOf(from), xOf(to)];
    context.lineWidth = thickness;
    context.strokeStyle = colour;
    const inset = thickness / 2;
    const wide = Math.max(right - left, 3) - thickness;
    context.strokeRect(left + inset, inset, wide, band - thickness);
  };
  if (selection !== undefined) {
    const { from, to } = selection;
    context.globalAlpha = 0.16;
    context.fillStyle = colour;
    context.fillRect(xOf(from), 0, xOf(to) - xOf(from), band);
    context.globalAlpha = 1;
    frame(selection, 2);
  }
  if (cursor !== undefined) frame(cursor, 1);
}

/** From instants to pixels. */
function scaleOf({ view, width }: Picture): (at: number) => number {
  return (at) => ((at - view.from) / (view.to - view.from)) * width;
}
