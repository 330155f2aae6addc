import { slotAt, slotLength } from './boundaries.ts';
import type { Rhythm, Span } from './boundaries.ts';
import { columnShares, firstEndingAfter } from './drawn.ts';
import type { Drawn } from './drawn.ts';
import { kind_names, kinds } from './kinds.ts';
import { clock_names } from './clocks.ts';
import type { Picked } from './clocks.ts';
import { bottomOf, placesOf } from './lanes.ts';
import type { Lane, Place } from './lanes.ts';
import { fillsOf } from './tiles.ts';
import type { ColourOf, Fills } from './tiles.ts';
import { ticksOf } from './axis.ts';

/** The input of the slots' picture; sizes in CSS pixels. */
export type Picture = {
  width: number;
  ratio: number;
  view: Span;
  rhythm: Rhythm;
  lanes: readonly Lane[];
  /** The time zones of the axis below, one line each. */
  zones: readonly string[];
  /** Instants that are drawn as lines through the lanes, with their names. */
  lines: readonly { at: number; text: string }[];
};

/** The marks on the map. */
export type Marks = { selection: Picked | undefined; cursor: Picked | undefined };

/** The height of a line of the axis. */
const line = 20;
/** A wider slot is a box of its own; otherwise a pixel column contains several slots. */
const box_width_min = 4;
/** Least height of trouble in pixels, even for a small share of a column. */
const trouble_height_min = 8;
/** The mark of a column is above the lane, so that it hides no trouble. */
const mark_height = 5;
/** Wider slots have larger lines over their colour. */
const fine_width_max = 24;
const tick_width = 76;
/** Width of a lane's label at the left of the row with line names. */
const labels_width = 170;
const font = '12px Geist, system-ui, sans-serif';

/** Returns the height of the whole picture. */
export function heightOf({ lanes, zones }: Pick<Picture, 'lanes' | 'zones'>): number {
  return bottomOf(lanes.length) + zones.length * line + 6;
}

/**
 * Paints slots and axis. Its time depends on the width and the ranges, not on the number of slots.
 */
export function paint(
  context: CanvasRenderingContext2D,
  picture: Picture,
  colourOf: ColourOf,
): void {
  const { width, ratio, view, rhythm, lanes } = picture;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, heightOf(picture));
  context.font = font;
  context.textBaseline = 'middle';
  const slot_width = (slotLength(rhythm) / (view.to - view.from)) * width;
  const fills = fillsOf(context, colourOf, ratio, slot_width > fine_width_max ? 16 : 8);
  const places = placesOf(lanes.length);
  for (const [index, { by, drawn }] of lanes.entries()) {
    const place = places[index]!;
    if (lanes.length > 1) {
      context.fillStyle = colourOf('--mantine-color-dimmed');
      context.fillText(clock_names[by], 0, place.top - 15);
    }
    const lane = { ...place, drawn, mark: colourOf('--map-mark') };
    if (slot_width >= box_width_min) paintBoxes(context, picture, lane, fills);
    else paintColumns(context, picture, lane, fills);
  }
  paintLines(context, picture, colourOf);
  paintAxis(context, picture, colourOf);
}

/** A lane with its place. */
type Placed = Place & { drawn: Drawn; mark: string };
function paintBoxes(
  context: CanvasRenderingContext2D,
  picture: Picture,
  { drawn, top, height, mark }: Placed,
  fills: Fills,
): void {
  const { view, rhythm } = picture;
  const xOf = scaleOf(picture);
  for (let index = firstEndingAfter(drawn, view.from); index < drawn.to.length; index += 1) {
    const [from, to] = [drawn.from[index]!, drawn.to[index]!];
    if (from >= view.to) return;
    const name = kind_names[drawn.kind[index]!]!;
    const fill = fills[name];
    if (fill === undefined) continue;
    context.fillStyle = fill;
    const end = Math.min(to, view.to);
    for (let slot = slotAt(rhythm, Math.max(from, view.from)); slot.from < end;) {
      // A backfill may begin and end within a slot.
      const left = xOf(Math.max(slot.from, from));
      const right = xOf(Math.min(slot.to, to));
      const gap = right - left > 12 ? 2 : 1;
      const wide = Math.max(1, right - left - gap);
      context.beginPath();
      context.roundRect(left + gap / 2, top, wide, height, wide > 8 ? 3 : 0);
      context.fill();
      if (kinds[name].is_marked) {
        paintMark(context, mark, left + gap / 2 + wide / 2, top, Math.min(wide, 14));
        context.fillStyle = fill;
      }
      slot = slotAt(rhythm, slot.to);
    }
  }
}

function paintMark(
  context: CanvasRenderingContext2D,
  colour: string,
  middle: number,
  top: number,
  size: number,
): void {
  context.fillStyle = colour;
  context.beginPath();
  context.moveTo(middle - size / 2, top);
  context.lineTo(middle + size / 2, top);
  context.lineTo(middle, top + size * 0.75);
  context.fill();
}

function paintColumns(
  context: CanvasRenderingContext2D,
  { view, width }: Picture,
  { drawn, top, height, mark }: Placed,
  fills: Fills,
): void {
  const columns = Math.ceil(width);
  const shares = columnShares(drawn, view, columns);
  const heights = new Float32Array(shares.length);
  for (let column = 0; column < columns; column += 1)
    stack(shares, heights, column * kind_names.length, height);
  // By kind and then by column, because changing a canvas's colour is slow.
  kind_names.forEach((name, kind) => {
    const fill = fills[name];
    if (fill === undefined) return;
    context.fillStyle = fill;
    for (let column = 0; column < columns; column += 1) {
      const first = column * kind_names.length;
      const high = heights[first + kind]!;
      if (high === 0) continue;
      let below = 0;
      for (let other = 0; other < kind; other += 1) below += heights[first + other]!;
      context.fillRect(column, top + height - below - high, 1, high);
    }
  });
  const marked = kind_names.findIndex((name) => kinds[name].is_marked);
  context.fillStyle = mark;
  for (let column = 0; column < columns; column += 1) {
    const share = shares[column * kind_names.length + marked]!;
    if (share === 0) continue;
    context.globalAlpha = Math.min(1, 0.3 + 4 * share);
    context.fillRect(column - 0.5, top - mark_height - 1, 2, mark_height);
  }
  context.globalAlpha = 1;
}

/** Computes the heights of a column: its shares, with enough height for trouble. */
function stack(shares: Float32Array, heights: Float32Array, first: number, band: number): void {
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

/** Paints important instants as lines through all lanes, each with its name on top. */
function paintLines(context: CanvasRenderingContext2D, picture: Picture, colourOf: ColourOf): void {
  const { view, width, lanes, lines } = picture;
  const xOf = scaleOf(picture);
  const bottom = bottomOf(lanes.length);
  context.fillStyle = colourOf('--mantine-color-text');
  let free_until = width;
  for (const { at, text } of lines.toSorted((one, other) => other.at - one.at)) {
    if (at <= view.from || at >= view.to) continue;
    const x = Math.round(xOf(at));
    context.fillRect(x, 14, 1, bottom - 14);
    const wide = context.measureText(text).width;
    const left = Math.max(0, Math.min(x - wide / 2, free_until - wide));
    if (left + wide > free_until || (lanes.length > 1 && left < labels_width)) continue;
    context.fillText(text, left, 7);
    free_until = left - 12;
  }
}

function paintAxis(context: CanvasRenderingContext2D, picture: Picture, colourOf: ColourOf): void {
  const { width, view, zones, lanes } = picture;
  const xOf = scaleOf(picture);
  const most = Math.floor(width / tick_width);
  zones.forEach((zone, index) => {
    const top = bottomOf(lanes.length) + 4 + index * line;
    for (const { at, text } of ticksOf(view, zone, most)) {
      const x = Math.round(xOf(at)) + 0.5;
      if (x + tick_width / 2 > width) continue;
      const is_day = text.includes('-');
      context.fillStyle = colourOf('--map-tick');
      context.fillRect(x - 0.5, top, 1, is_day ? 14 : 7);
      context.fillStyle = colourOf(is_day ? '--mantine-color-text' : '--mantine-color-dimmed');
      context.fillText(text, x + 5, top + line / 2);
    }
  });
}

/** Paints the selection and the cursor over the slots. */
export function paintMarks(
  context: CanvasRenderingContext2D,
  picture: Picture,
  { selection, cursor }: Marks,
  colourOf: ColourOf,
): void {
  const xOf = scaleOf(picture);
  const places = placesOf(picture.lanes.length);
  const placeOf = (by: Picked['by']) =>
    places[picture.lanes.findIndex((lane) => lane.by === by)] ?? places[0]!;
  const colour = colourOf('--mantine-color-text');
  const frame = ({ from, to, by }: Picked, thickness: number) => {
    const { top, height } = placeOf(by);
    const [left, right] = [xOf(from), xOf(to)];
    context.lineWidth = thickness;
    context.strokeStyle = colour;
    const inset = thickness / 2;
    const wide = Math.max(right - left, 3) - thickness;
    context.strokeRect(left + inset, top + inset, wide, height - thickness);
  };
  if (selection !== undefined) {
    const { from, to, by } = selection;
    const { top, height } = placeOf(by);
    context.globalAlpha = 0.16;
    context.fillStyle = colour;
    context.fillRect(xOf(from), top, xOf(to) - xOf(from), height);
    context.globalAlpha = 1;
    frame(selection, 2);
  }
  if (cursor !== undefined) frame(cursor, 1);
}

/** Returns the scale from instants to pixels. */
function scaleOf({ view, width }: Picture): (at: number) => number {
  return (at) => ((at - view.from) / (view.to - view.from)) * width;
}
