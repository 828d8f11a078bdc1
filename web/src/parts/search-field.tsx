import { useEffect, useRef, useState } from "preact/hooks";

interface Props {
  readonly label: string;
  readonly value: string;
  readonly placeholder?: string;
  readonly onChange: (text: string) => void;
}

const restMs = 200;

/** A search field, applied when typing pauses. The key `/` focuses it. */
export function SearchField({ label, value, placeholder, onChange }: Props) {
  const [text, setText] = useState(value);
  // What this field has applied comes back as `value` later. It must not replace what was typed since.
  const applied = useRef(value);
  const apply = () => {
    applied.current = text;
    onChange(text);
  };
  useEffect(() => {
    if (value === applied.current) return;
    applied.current = value;
    setText(value);
  }, [value]);
  useEffect(() => {
    if (text === applied.current) return;
    const timer = setTimeout(apply, restMs);
    return () => clearTimeout(timer);
  }, [text, value, onChange]);
  return (
    <label class="field grow">
      <span>{label}</span>
      <input
        type="search"
        data-search
        value={text}
        placeholder={placeholder}
        autocomplete="off"
        spellcheck={false}
        dir="auto"
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") apply();
        }}
      />
    </label>
  );
}
