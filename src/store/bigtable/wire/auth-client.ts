/** What is used of google-auth-library's clients. */
export interface AuthClient {
  /** Of the credentials. Default: `googleapis.com`. */
  readonly universeDomain?: string | undefined;
  getRequestHeaders(url?: string): Promise<Headers | Readonly<Record<string, string>>>;
}
