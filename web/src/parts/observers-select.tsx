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
  /** Values and their labels. */
  readonly options: readonly (readonly [string, string])[];
}

/** A select field with its label. */
export function Select({ label, value, onChange, options }: SelectProps) {
  return (
    <label class="field">
      <span>{label}</span>
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {options.map(([each, shown]) => (
          <option key={each} value={each}>
            {shown}
          </option>
        ))}
      </select>
    </label>
  );
}
