import type { CommandParts } from "../../format/shell.js";
import { Tabs } from "../../parts/tabs.js";
import { ViewHead } from "../../parts/view-head.js";
import { hashOf, type Route } from "../../routing/route.js";
import { Conflicts } from "./conflicts.js";
import { TransactionPanel } from "./transaction-panel.js";
import { TransactionsList } from "./transactions-list.js";

export function TransactionsView({ route }: { readonly route: Route }) {
  const { show = "recent", id, observer } = route.state;
  const commands: readonly CommandParts[] =
    observer === undefined ? [{ command: "status" }] : [{ command: "pending", options: { observer } }];
  return (
    <div class="view">
      <ViewHead
        title="Transactions"
        commands={commands}
        commandNote="What a transaction did is known to its process while it is remembered; the command line shows what it left: history and inspect of the cells that it wrote."
      >
        What committed, conflicted or was rolled back of late: what caused it, what it waited for, and what it
        caused.
      </ViewHead>
      <Tabs
        label="Transactions"
        current={show}
        items={[
          {
            key: "recent",
            name: "Recent",
            href: hashOf("transactions", { ...route.state, show: undefined }),
          },
          { key: "conflicts", name: "Conflicts", href: hashOf("transactions", { show: "conflicts" }) },
        ]}
      />
      {show === "conflicts" ? (
        <Conflicts />
      ) : (
        <div class={id === undefined ? "split" : "split open"}>
          <TransactionsList route={route} />
          {id === undefined ? null : <TransactionPanel key={id} id={id} route={route} />}
        </div>
      )}
    </div>
  );
}
