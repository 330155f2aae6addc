import { useId, useLayoutEffect, useRef, useState } from 'react';
import type { ComponentProps, KeyboardEvent, ReactNode, RefObject } from 'react';
import { createLink } from '@tanstack/react-router';

/** Space between a menu, its button and the edge of the window. */
const gap_px = 4;

/** The properties that make a button open a menu. */
type Opener = Pick<
  ComponentProps<'button'>,
  'aria-haspopup' | 'aria-expanded' | 'aria-controls' | 'onPointerDown' | 'onClick'
> & { ref: RefObject<HTMLButtonElement | null> };

/**
 * Links and actions in a menu, above or below its button. It takes the focus; the arrow keys move
 * between items, and Escape, a press elsewhere or a chosen item close it.
 */
export function Menu({
  renderButton,
  side = 'below',
  children,
}: {
  renderButton: (opener: Opener) => ReactNode;
  side?: 'below' | 'above';
  children: ReactNode;
}) {
  const opener = useRef<HTMLButtonElement>(null);
  const [is_open, setOpen] = useState(false);
  // A press on the button closes an open menu before the click, which must not open it again.
  const was_open = useRef(false);
  const id = useId();
  return (
    <>
      {renderButton({
        ref: opener,
        'aria-haspopup': 'menu',
        'aria-expanded': is_open,
        'aria-controls': is_open ? id : undefined,
        onPointerDown: () => (was_open.current = is_open),
        onClick: () => {
          setOpen(!was_open.current);
          was_open.current = false;
        },
      })}
      {is_open && (
        <Items id={id} opener={opener} side={side} closed={() => setOpen(false)}>
          {children}
        </Items>
      )}
    </>
  );
}

function Items({
  id,
  opener,
  side,
  closed,
  children,
}: {
  id: string;
  opener: RefObject<HTMLButtonElement | null>;
  side: 'below' | 'above';
  closed: () => void;
  children: ReactNode;
}) {
  const place = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const menu = place.current!;
    menu.showPopover();
    const { left, top, bottom } = opener.current!.getBoundingClientRect();
    const { width, height } = menu.getBoundingClientRect();
    const furthest = document.documentElement.clientWidth - width - 2 * gap_px;
    menu.style.left = `${Math.max(2 * gap_px, Math.min(left, furthest))}px`;
    menu.style.top = `${side === 'below' ? bottom + gap_px : top - height - gap_px}px`;
    itemsOf(menu)[0]?.focus();
    const hide = () => menu.hidePopover();
    window.addEventListener('resize', hide);
    return () => window.removeEventListener('resize', hide);
  }, [opener, side]);
  return (
    <div
      ref={place}
      id={id}
      role="menu"
      aria-orientation="vertical"
      tabIndex={-1}
      popover="auto"
      className="menu"
      onToggle={({ newState }) => newState === 'closed' && closed()}
      onKeyDown={(event) => pressed(event, place.current!)}
      onClick={({ target }) =>
        (target as Element).closest('[role=menuitem]') !== null && place.current?.hidePopover()
      }
    >
      {children}
    </div>
  );
}

const itemsOf = (menu: HTMLElement) =>
  [...menu.querySelectorAll<HTMLElement>('[role=menuitem]')].filter((one) => one.checkVisibility());

function pressed(event: KeyboardEvent, menu: HTMLElement): void {
  const items = itemsOf(menu);
  const at = items.indexOf(document.activeElement as HTMLElement);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1 + items.length, Home: 0, End: -1 }[event.key];
  if (event.key === 'Tab') menu.hidePopover();
  if (to === undefined) return;
  event.preventDefault();
  items.at(to % items.length)?.focus();
}

type ItemProps = {
  icon?: ReactNode;
  /** Shown at the end of the line. */
  mark?: ReactNode;
  children: ReactNode;
};

/** An action of a menu. */
export function MenuAction({
  is_danger = false,
  act,
  ...item
}: ItemProps & { is_danger?: boolean; act: () => void }) {
  return (
    <button
      type="button"
      role="menuitem"
      className={is_danger ? 'menu_item danger' : 'menu_item'}
      onClick={act}
    >
      <Item {...item} />
    </button>
  );
}

/** A menu link to a page outside of the console. */
export function MenuAddress({
  icon,
  mark,
  className = '',
  children,
  ...link
}: ItemProps & ComponentProps<'a'>) {
  return (
    <a role="menuitem" className={`menu_item ${className}`} {...link}>
      <Item icon={icon} mark={mark}>
        {children}
      </Item>
    </a>
  );
}

/** A menu link to a page. */
export const MenuLink = createLink(MenuAddress);

function Item({ icon, mark, children }: ItemProps) {
  return (
    <>
      {icon}
      <span>{children}</span>
      {mark}
    </>
  );
}
