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
        commandNote="Only its process knows what a transaction did, and only for a while. The command line shows its results: use history and inspect on the cells that it wrote."
      >
        Recent transactions that committed, conflicted or were rolled back: their causes, waits and effects.
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
