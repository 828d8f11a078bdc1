import { useEffect, useState } from "preact/hooks";

const shownMs = 1_600;

/** A button that copies a text and confirms it. */
export function CopyButton({
  text,
  label,
  shows = "Copy",
}: {
  text: () => string;
  label: string;
  shows?: string;
}) {
  const [said, setSaid] = useState<string>();
  useEffect(() => {
    if (said === undefined) return;
    const timer = setTimeout(() => setSaid(undefined), shownMs);
    return () => clearTimeout(timer);
  }, [said]);
  const copy = async () => setSaid((await copied(text())) ? "Copied" : "Select it to copy");
  return (
    <button
      type="button"
      class="quiet copy"
      aria-label={said === undefined ? label : undefined}
      onClick={() => void copy()}
    >
      {said ?? shows}
      <span class="unseen" aria-live="polite">
        {said}
      </span>
    </button>
  );
}

async function copied(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copiedOldWay(text);
  }
}

/**
 * Copies through a selection. Pages that are neither on https nor on loopback need it, because
 * browsers offer them no clipboard.
 */
function copiedOldWay(text: string): boolean {
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "unseen";
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return done;
}
