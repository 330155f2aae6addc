/** The name of the product, with its logo. */
export function Brand() {
  return (
    <p className="brand">
      <svg width={20} height={20} viewBox="0 0 32 32" aria-hidden>
        <rect width={32} height={32} rx={7} fill="#1c5d99" />
        <path d="M7 11h18M7 16h12M7 21h18" stroke="#fff" strokeWidth={3} strokeLinecap="round" />
      </svg>
      Sluice
    </p>
  );
}
