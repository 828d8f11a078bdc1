import { overview } from "../api/stream.js";
import { useStore } from "../state/store.js";

interface Props {
  readonly value: string;
  readonly onChange: (name: string) => void;
}

/** Selects one observer, or all. */
export function ObserverSelect({ value, onChange }: Props) {
  const names = (useStore(overview)?.observers ?? []).map(({ name }) => name);
  const all = value === "" || names.includes(value) ? names : [...names, value];
  return (
    <Select
      label="Observer"
      value={value}
      onChange={onChange}
      options={[["", "all"], ...all.map((name) => [name, name] as const)]}
    />
  );
}

interface SelectProps extends Props {
  readonly label: string;
  /** Values and their labels, and whether they are internal. */
  readonly options: readonly (readonly [value: string, shown: string, isInternal?: boolean])[];
}

/** A select field with its label. */
export function Select({ label, value, onChange, options }: SelectProps) {
  return (
    <label class="field">
      <span>{label}</span>
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {options.filter(([, , isInternal]) => !isInternal).map(optionOf)}
        {options.some(([, , isInternal]) => isInternal) ? (
          <optgroup label="internal">
            {options.filter(([, , isInternal]) => isInternal).map(optionOf)}
          </optgroup>
        ) : null}
      </select>
    </label>
  );
}

const optionOf = ([value, shown]: SelectProps["options"][number]) => (
  <option key={value} value={value}>
    {shown}
  </option>
);
