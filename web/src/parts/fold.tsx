import type { ComponentChildren } from "preact";
import { useIsNarrow } from "../state/narrow.js";

interface Props {
  readonly line: ComponentChildren;
  readonly children: ComponentChildren;
}

/** A part of a view that a narrow window closes behind one line, which says what it holds. */
export function Fold({ line, children }: Props) {
  if (!useIsNarrow()) return <>{children}</>;
  return (
    <details class="fold">
      <summary>{line}</summary>
      {children}
    </details>
  );
}
