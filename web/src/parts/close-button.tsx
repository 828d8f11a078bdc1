interface Props {
  readonly onClose: () => void;
}

/** Closes its panel. If the focus is in the panel, it goes to the row that the panel was of, or to the view. */
export function CloseButton({ onClose }: Props) {
  const close = ({ currentTarget }: Event) => {
    const find = (selector: string) => document.querySelector<HTMLElement>(selector);
    const panel = (currentTarget as Element).closest(".panel");
    if (panel?.contains(document.activeElement))
      (find('[data-row][aria-current="true"]') ?? find("#main"))?.focus();
    onClose();
  };
  return (
    <button type="button" class="quiet" data-close onClick={close}>
      Close
    </button>
  );
}
