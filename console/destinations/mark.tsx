import './picker.css';

/**
 * The mark of a destination type: two letters of its name in a shape with the colour of its group.
 * It is decorative, because the name is beside it.
 */
export function DestinationMark({ type }: { type: string }) {
  return (
    <svg className="mark" viewBox="0 0 32 32" width={32} height={32} aria-hidden>
      <rect x={1} y={1} width={30} height={30} rx={8} />
      <text x={16} y={21} textAnchor="middle">
        {letters(type)}
      </text>
    </svg>
  );
}

function letters(type: string): string {
  const [first = '', second] = type.match(/[A-Z0-9]/g) ?? [];
  return first + (second ?? type.slice(1, 2));
}
