/** The script of the bank's page, for browsers. */
import { live } from "percolatordb/live/client";
import type { liveAudit } from "./live-audit.js";

/** What this script uses of a browser, because the examples are compiled for Node. */
interface PageElement {
  textContent: string | null;
  href: string;
  append(...children: (PageElement | string)[]): void;
  replaceChildren(...children: PageElement[]): void;
}
declare const document: {
  createElement(tag: string): PageElement;
  getElementById(id: string): PageElement | null;
};
declare const location: { readonly search: string };

const at = (id: string) => document.getElementById(id)!;

function element(tag: string, ...children: (PageElement | string)[]): PageElement {
  const made = document.createElement(tag);
  made.append(...children);
  return made;
}

function link(account: string): PageElement {
  const made = element("a", account);
  made.href = `/?account=${encodeURIComponent(account)}`;
  return made;
}

const line = (first: PageElement | string, amount: number) =>
  element("tr", element("td", first), element("td", `$${amount}`));

live<ReturnType<typeof liveAudit>>(`/live/audit${location.search}`, {
  onValue({ value: { balances, sum, account, lines, notYetInTrail } }) {
    at("sum").textContent = `The ${balances.length} balances add up to $${sum}.`;
    at("balances").replaceChildren(...balances.map((each) => line(link(each.account), each.balance)));
    at("account").textContent = `The trail of ${account}`;
    at("lines").replaceChildren(...lines.map(({ id, amount }) => line(id, amount)));
    at("waiting").textContent =
      notYetInTrail === undefined ? "" : `$${notYetInTrail} of its balance is not in the trail yet.`;
  },
  onState(state) {
    at("state").textContent = {
      connecting: "Connecting.",
      open: "Live.",
      waiting: "The connection is lost. Trying again.",
      closed: "Not live any more. Reload the page.",
    }[state];
  },
});
