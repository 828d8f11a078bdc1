import { bytes, count } from "../../format/numbers.js";

/** Figures that the store reports about itself. */
export function Statistics({ statistics }: { readonly statistics: Readonly<Record<string, number>> }) {
  const all = Object.entries(statistics);
  if (all.length === 0) return null;
  return (
    <details class="panel statistics">
      <summary>
        <h2>Figures of the store</h2>
      </summary>
      <dl>
        {all.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{/bytes|size/i.test(name) ? bytes(value) : count(value)}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}
