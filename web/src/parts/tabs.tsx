interface Props {
  readonly label: string;
  readonly current: string;
  /** Address and name of each tab. */
  readonly items: readonly {
    readonly key: string;
    readonly name: string;
    readonly href: string;
    readonly badge?: string;
  }[];
}

/** Tabs within a view. Each has its own link. */
export function Tabs({ label, current, items }: Props) {
  return (
    <nav class="tabs" aria-label={label}>
      {items.map(({ key, name, href, badge }) => (
        <a key={key} href={href} aria-current={key === current ? "page" : undefined}>
          {name}
          {badge === undefined ? null : <span class="badge">{badge}</span>}
        </a>
      ))}
    </nav>
  );
}
