/** What a user may have meant as the password of `SCHEME://USER:PASSWORD@HOST`, also if it is not encoded. */
const ofUser = /^([a-z][a-z0-9+.-]*:\/{0,2}[^:@/?#[]*):(?:[^/?#]*|(?!\d*(?:[/?#]|$)).*)@/is;
const ofParameter = /([?&][^=&]*password=)[^&]*/gi;

/** A location as it may be shown: without the password that it may hold. */
export function withoutPassword(place: string): string {
  return place.replace(ofUser, "$1@").replace(ofParameter, "$1...");
}
