/** The part of google-auth-library's clients that this store uses. */
export interface AuthClient {
  /** The universe domain of the credentials. Default: `googleapis.com`. */
  readonly universeDomain?: string | undefined;
  getRequestHeaders(url?: string): Promise<Headers | Readonly<Record<string, string>>>;
}
