import { bounded, counted, none, rate } from "../../format/numbers.js";
import { oneLine } from "../../format/text.js";
import { duration } from "../../format/times.js";
import { MarkAt } from "../../parts/mark.js";
import { useAbout } from "../../state/about.js";
import { healthOf, otherStates, problemsOf } from "../../state/health.js";
import type { ColumnNode, GraphNode, InternalNode, ObserverNode } from "./graph.js";
import type { Placed } from "./layout.js";

export function sizeOf({ kind }: GraphNode): { readonly width: number; readonly height: number } {
  return kind === "observer" ? { width: 208, height: 58 } : { width: 130, height: 44 };
}

interface Props {
  readonly node: GraphNode;
  readonly place: Placed;
  readonly href: string;
  readonly isSelected: boolean;
  readonly isDim: boolean;
  /** Whether the Tab key stops at this node. */
  readonly isFirst: boolean;
  readonly onFocus: () => void;
}

/** A node, as a link that highlights the nodes connected with it. */
export function NodePicture({ node, place, href, isSelected, isDim, isFirst, onFocus }: Props) {
  const health = node.kind === "observer" ? healthOf(node.observer) : undefined;
  const name = ["node", node.kind, health?.level, isDim && "dim", isSelected && "selected"]
    .filter(Boolean)
    .join(" ");
  const label = labelOf(node, health?.why);
  return (
    <g class={name} transform={`translate(${place.x} ${place.y})`}>
      <a
        href={href}
        data-node={node.id}
        tabindex={isFirst ? 0 : -1}
        aria-label={label}
        aria-current={isSelected ? "true" : undefined}
        onFocus={onFocus}
      >
        <title>{label}</title>
        <rect class="focus-ring" x={-4} y={-4} width={place.width + 8} height={place.height + 8} rx={12} />
        <rect class="box" width={place.width} height={place.height} rx={node.kind === "observer" ? 9 : 4} />
      </a>
      {/* biome-ignore lint/a11y/noAriaHiddenOnFocusable: nothing in it takes the focus, and the label of the link next to it says more. */}
      <g class="node-text" aria-hidden="true">
        {node.kind === "observer" ? (
          <ObserverText node={node} width={place.width} />
        ) : node.kind === "internal" ? (
          <InternalText node={node} />
        ) : (
          <ColumnText node={node} />
        )}
      </g>
    </g>
  );
}

function labelOf(node: GraphNode, why: string | undefined): string {
  if (node.kind === "column") return `${node.of} ${node.table}.${node.column}`;
  if (node.kind === "internal")
    return `internal: ${counted(node.columns.length, "column")} that ${ownerInWords(node)} keeps`;
  const { name, pending, parked, delay } = node.observer;
  const whys = problemsOf(node.observer).map((each) => each.why);
  return `observer ${name}. ${whys.length === 0 ? why : whys.join(" ")} ${bounded(pending)} wait, ${bounded(parked)} parked, p99 ${duration(delay.p99Ms)}.`;
}

function InternalText({ node }: { readonly node: InternalNode }) {
  return (
    <>
      <text class="node-sub" x={12} y={16}>
        internal
      </text>
      <text class="node-name" x={12} y={34}>
        {cut(ownerInWords(node), 15)}
      </text>
    </>
  );
}

/** Whose inner tables a node stands for. */
export const ownerInWords = ({ owner }: InternalNode) => owner ?? "the dashboard";

function ColumnText({ node }: { readonly node: ColumnNode }) {
  const sign = node.of === "column" ? "" : ` · ${node.of}`;
  return (
    <>
      <text class="node-sub" x={12} y={16}>
        {cut(node.table, 20 - sign.length)}
        {sign}
      </text>
      <text class="node-name mono" x={12} y={34}>
        {cut(node.column, 14)}
      </text>
    </>
  );
}

/** Pixels of a letter, at most for nearly all names. */
const [letterOfName, letterOfWord] = [8, 6.5];

function ObserverText({ node, width }: { readonly node: ObserverNode; readonly width: number }) {
  const { observer } = node;
  const { level, word } = healthOf(observer);
  const most = Math.floor((width - 50 - letterOfWord * word.length) / letterOfName);
  const states = otherStates(observer);
  const delay = `p99 ${duration(observer.delay.p99Ms)}`;
  const { reach } = useAbout();
  const runs = `${reach === "store" ? none : rate(observer.runsPerSecond)}/s`;
  const below = states.length === 0 ? [delay, runs] : [...states, delay];
  return (
    <>
      <MarkAt level={level} x={18} y={19} size={12} />
      <text class="node-name" x={30} y={23}>
        {cut(observer.name, most)}
      </text>
      <text class={`node-word ${level}`} x={width - 12} y={23} text-anchor="end">
        {word}
      </text>
      <text class="node-sub" x={12} y={45}>
        {cut(below.join(" · "), Math.floor((width - 24) / letterOfWord))}
      </text>
    </>
  );
}

function cut(text: string, most: number): string {
  const shown = [...oneLine(text)];
  return shown.length <= most ? shown.join("") : `${shown.slice(0, most - 1).join("")}…`;
}
