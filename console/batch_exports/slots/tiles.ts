import { kind_names, kinds } from './kinds.ts';
import type { KindName } from './kinds.ts';

/** A colour by the name of its variable in the theme. */
export type ColourOf = (variable: string) => string;

/** The sign of a slot that was delivered after retries, in a tile of 8 x 8. */
export const mark_path = 'M1.5 0H6.5L4 4Z';

/** The fill of each drawn kind. */
export type Fills = Partial<Record<KindName, string | CanvasPattern>>;

/** Returns the fill of each drawn kind; its lines repeat after so many pixels. */
export function fillsOf(
  context: CanvasRenderingContext2D,
  colourOf: ColourOf,
  ratio: number,
  size: number,
): Fills {
  const drawn = kind_names.filter((name) => kinds[name].colour !== '');
  const tile = (name: KindName) => tileOf(context, name, colourOf, ratio, size);
  return Object.fromEntries(drawn.map((name) => [name, tile(name)]));
}

/** Returns a kind's colour with its lines, so that no kind depends on colour alone. */
function tileOf(
  context: CanvasRenderingContext2D,
  name: KindName,
  colourOf: ColourOf,
  ratio: number,
  size: number,
): string | CanvasPattern {
  const { colour, lines, ink } = kinds[name];
  if (lines === '') return colourOf(colour);
  const tile = document.createElement('canvas');
  [tile.width, tile.height] = [size * ratio, size * ratio];
  const pen = tile.getContext('2d')!;
  pen.fillStyle = colourOf(colour);
  pen.fillRect(0, 0, tile.width, tile.height);
  pen.scale((ratio * size) / 8, (ratio * size) / 8);
  pen.strokeStyle = colourOf(ink);
  pen.lineWidth = size === 8 ? 1.5 : 1;
  pen.lineCap = 'round';
  pen.stroke(new Path2D(lines));
  const pattern = context.createPattern(tile, 'repeat')!;
  pattern.setTransform(new DOMMatrix().scale(1 / ratio));
  return pattern;
}
