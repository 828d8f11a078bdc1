import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A self-signed certificate. It is made by openssl in a folder that is removed with it. */
export class MadeCertificate {
  readonly #folder = mkdtempSync(join(tmpdir(), "percolator-certificate-"));
  readonly certFile = join(this.#folder, "tls.crt");
  readonly keyFile = join(this.#folder, "tls.key");

  constructor(names: readonly string[], days = 90) {
    const alternatives = names.map((name) => `DNS:${name}`).join(",");
    const key = [
      "-newkey",
      "ec",
      "-pkeyopt",
      "ec_paramgen_curve:prime256v1",
      "-nodes",
      "-keyout",
      this.keyFile,
    ];
    const asked = [
      "-subj",
      "/CN=coordinators",
      "-addext",
      `subjectAltName=${alternatives}`,
      "-days",
      String(days),
    ];
    execFileSync("openssl", ["req", "-x509", ...key, ...asked, "-out", this.certFile], { stdio: "pipe" });
  }

  get cert(): string {
    return readFileSync(this.certFile, "utf8");
  }

  get key(): string {
    return readFileSync(this.keyFile, "utf8");
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
