import type { CommandParts } from "../../format/shell.js";
import { Tabs } from "../../parts/tabs.js";
import { ViewHead } from "../../parts/view-head.js";
import { hashOf, type Route } from "../../routing/route.js";
import { Conflicts } from "./conflicts.js";
import { TransactionPanel } from "./transaction-panel.js";
import { lists, TransactionsList } from "./transactions-list.js";
import { WorstLines } from "./worst-lines.js";

export function TransactionsView({ route }: { readonly route: Route }) {
  const { show = "recent", id, observer } = route.state;
  const commands: readonly CommandParts[] =
    observer === undefined ? [{ command: "status" }] : [{ command: "pending", options: { observer } }];
  const names = Object.keys(lists) as (keyof typeof lists)[];
  const list = names.find((name) => name === show) ?? "recent";
  return (
    <div class="view">
      <ViewHead
        title="Transactions"
        commands={commands}
        commandNote="Only its process knows what a transaction did, and only for a while. The command line shows its results: use history and inspect on the cells that it wrote."
      >
        Which transactions are slow, conflict or fail: their causes, waits and effects.
      </ViewHead>
      <WorstLines />
      <Tabs
        label="Transactions"
        current={show === "conflicts" ? show : list}
        items={[
          ...names.map((name) => ({
            key: name,
            name: lists[name].name,
            href: hashOf("transactions", {
              ...route.state,
              by: undefined,
              id: undefined,
              show: name === "recent" ? undefined : name,
            }),
          })),
          {
            key: "conflicts",
            name: "Conflicts by column",
            href: hashOf("transactions", { show: "conflicts" }),
          },
        ]}
      />
      {show === "conflicts" ? (
        <Conflicts />
      ) : (
        <div class={id === undefined ? "split" : "split open"}>
          <TransactionsList key={list} route={route} show={list} />
          {id === undefined ? null : <TransactionPanel key={id} id={id} route={route} />}
        </div>
      )}
    </div>
  );
}
