import { InvalidArgumentError } from "../../errors/index.js";
import { ServerCredentials } from "../packages.js";
import { type CoordinatorTls, contextOf } from "./server-certificate.js";

/** Server credentials whose certificate can be replaced while the server runs. */
export class ReplaceableCredentials extends ServerCredentials {
  readonly #asksClients: boolean;

  constructor(tls: CoordinatorTls) {
    super({ requestCert: tls.ca !== undefined }, contextOf(tls));
    this.#asksClients = tls.ca !== undefined;
  }

  /** Applies to new connections. Existing ones stay open. */
  replace(tls: CoordinatorTls): void {
    if (this.#asksClients !== (tls.ca !== undefined)) {
      throw new InvalidArgumentError(
        "Whether clients must have certificates (`tls.ca`) cannot change while a coordinator runs: restart it.",
      );
    }
    this.updateSecureContextOptions(contextOf(tls));
  }

  override _equals(other: ServerCredentials): boolean {
    return this === other;
  }
}
